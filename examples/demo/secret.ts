import { randomBytes } from "node:crypto";
import { link, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";

/**
 * The secret that sessions are encrypted with: `AUTH_SECRET`, or one made at the first start and kept beside the
 * database, so that users stay signed in after a restart.
 */
export async function loadSecret(dataDir: string): Promise<string> {
  if (process.env.AUTH_SECRET) return process.env.AUTH_SECRET;
  const file = join(dataDir, "auth_secret");
  const draft = `${file}.${randomBytes(6).toString("hex")}`;
  // 600 because with the secret one can sign in as any user.
  await writeFile(draft, randomBytes(32).toString("base64url"), { mode: 0o600 });
  try {
    // Fails if the file is there. Unlike a file that is being written, it is never there without its secret.
    await link(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    await rm(draft);
  }
  return (await readFile(file, "utf8")).trim();
}
