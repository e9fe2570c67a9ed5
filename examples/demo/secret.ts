import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";

/**
 * The secret that sessions are encrypted with: `AUTH_SECRET`, or one made at the first start and kept beside the
 * database, so that users stay signed in after a restart.
 */
export async function loadSecret(dataDir: string): Promise<string> {
  if (process.env.AUTH_SECRET) return process.env.AUTH_SECRET;
  const file = join(dataDir, "auth_secret");
  const secret = randomBytes(32).toString("base64url");
  try {
    // "wx" fails when the file is there; 600 because with the secret one can sign in as any user.
    await writeFile(file, secret, { mode: 0o600, flag: "wx" });
    return secret;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return (await readFile(file, "utf8")).trim();
  }
}
