/**
 * The files that the pages load. Their names have a hash of their content, so that browsers may keep them.
 */
import { createHash } from "node:crypto";
import { logoSprite } from "./logo_sprite.ts";
import { PAGE_SCRIPT } from "./page_script.ts";
import { STYLE } from "./style.css.ts";
import type { AssetAddresses, AssetName } from "./types.ts";

/** A file for browsers. */
export interface Asset {
  /** Its content type. */
  readonly type: string;
  readonly content: string;
  /** Its name with the hash, as in `style-3f9a0c1b2d4e.css`. */
  readonly file: string;
}

/** The assets of one configuration. */
export interface Assets {
  /** The addresses below a mount path. */
  readonly below: (mountPath: string) => AssetAddresses;
  /** The asset of a file name; also under the name of an older content. */
  readonly find: (file: string) => Asset | undefined;
}

/** What decides which assets there are. */
export interface AssetOptions {
  /** CSS that comes after the stylesheet of the pages: the theme of the application. */
  readonly theme: string;
  /** The logos that are shown, by provider id. */
  readonly logos: readonly string[];
  /** Whether there is a passkey button. */
  readonly passkeys: boolean;
}

/** Makes the assets. Logos and the passkey script are only loaded if they are needed. */
export async function loadAssets({ theme, logos, passkeys }: AssetOptions): Promise<Assets> {
  const { svg, css, ids } = await logoSprite(logos);
  const assets = new Map<AssetName, Asset>();
  const add = (name: AssetName, type: string, content: string) =>
    assets.set(name, { type: `${type}; charset=utf-8`, content, file: hashedName(name, content) });
  add("style.css", "text/css", STYLE + css + theme);
  add("page.js", "text/javascript", PAGE_SCRIPT);
  if (ids.size > 0) add("logos.svg", "image/svg+xml", svg);
  if (passkeys) add("passkey.js", "text/javascript", (await import("./passkey_script.ts")).PASSKEY_SCRIPT);
  return {
    below: (mountPath) => ({
      address(name) {
        const asset = assets.get(name);
        return asset && `${mountPath}/assets/${asset.file}`;
      },
      hasLogo: (brand) => ids.has(brand),
    }),
    find: (file) => assets.get(file.replace(/-[0-9a-f]+(?=\.\w+$)/, "") as AssetName),
  };
}

/** Characters of a hash, in hexadecimal: 48 bits tell every version of a file from the others. */
const HASH_LENGTH = 12;

function hashedName(name: AssetName, content: string): string {
  const hash = createHash("sha256").update(content).digest("hex").slice(0, HASH_LENGTH);
  return name.replace(".", `-${hash}.`);
}
