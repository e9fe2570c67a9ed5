/** Builds the reference of every entry point, as HTML, into `reference/`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import process from "node:process";

const root = new URL("../", import.meta.url);
const { name, exports } = JSON.parse(await readFile(new URL("deno.json", root), "utf8"));
const options = ["--html", `--name=${name}`, "--output=reference"];
const child = spawn(process.execPath, ["doc", ...options, ...Object.values<string>(exports)], {
  cwd: root,
  stdio: "inherit",
});
[process.exitCode] = await once(child, "exit");
