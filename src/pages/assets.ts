/** The files that the pages load. Their names have a hash of their content, so that browsers may keep them. */
import { createHash } from "node:crypto";
import { logoSprite } from "./logo_sprite.ts";
import { PAGE_SCRIPT } from "./page_script.ts";
import { STYLE } from "./style.css.ts";

type AssetName = "style.css" | "logos.svg" | "page.js" | "passkey.js";

export type Assets = Awaited<ReturnType<typeof loadAssets>>;
export type AssetAddresses = ReturnType<Assets["below"]>;

export interface AssetOptions {
  /** CSS that comes after the stylesheet of the pages: the theme of the application. */
  readonly theme: string;
  /** The logos that are shown, by provider id. */
  readonly logos: readonly string[];
  readonly passkeys: boolean;
}

/** Makes the assets. Logos and the passkey script are only loaded if they are needed. */
export async function loadAssets({ theme, logos, passkeys }: AssetOptions) {
  const { svg, css, ids } = await logoSprite(logos);
  /** With the names that have a hash, as `style-3f9a0c1b2d4e.css`. */
  const assets = new Map<AssetName, Record<"type" | "content" | "file", string>>();
  const add = (name: AssetName, type: string, content: string) => {
    const hash = createHash("sha256").update(content).digest("hex").slice(0, HASH_LENGTH);
    assets.set(name, { type: `${type}; charset=utf-8`, content, file: name.replace(".", `-${hash}.`) });
  };
  add("style.css", "text/css", STYLE + css + theme);
  add("page.js", "text/javascript", PAGE_SCRIPT);
  if (ids.size > 0) add("logos.svg", "image/svg+xml", svg);
  if (passkeys) add("passkey.js", "text/javascript", (await import("./passkey_script.ts")).PASSKEY_SCRIPT);
  return {
    /** The addresses below a mount path. */
    below: (mountPath: string) => ({
      /** A path with a content hash; `undefined` for what this configuration does not need. */
      address(name: AssetName) {
        const asset = assets.get(name);
        return asset && `${mountPath}/assets/${asset.file}`;
      },
      hasLogo: (brand: string) => ids.has(brand),
    }),
    /** The asset of a file name; also under the name of an older content. */
    find: (file: string) => assets.get(file.replace(/-[0-9a-f]+(?=\.\w+$)/, "") as AssetName),
  };
}

/** Characters of a hash, in hexadecimal: 48 bits tell every version of a file from the others. */
const HASH_LENGTH = 12;
