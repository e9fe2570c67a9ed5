/** React as a module for browsers, as a bundler would have made it: React publishes CommonJS alone. */
import { readFile } from "node:fs/promises";

/** The files of React, and what each is called in the `require()` of the others. */
const FILES = {
  react: ["react", "cjs/react.production.js"],
  scheduler: ["scheduler", "cjs/scheduler.production.js"],
  "react-dom": ["react-dom", "cjs/react-dom.production.js"],
  "react-dom/client": ["react-dom", "cjs/react-dom-client.production.js"],
} as const;

/** One module with what `react` and `react-dom/client` export of what is used here. */
export async function reactModule(): Promise<string> {
  const resolved = {
    react: import.meta.resolve("react"),
    scheduler: import.meta.resolve("scheduler"),
    "react-dom": import.meta.resolve("react-dom"),
  };
  const definitions = await Promise.all(
    Object.entries(FILES).map(async ([name, [of, file]]) => {
      const source = await readFile(new URL(file, resolved[of]), "utf8");
      return `"${name}": (require, module, exports) => {${source}\n}`;
    }),
  );
  return `const definitions = { ${definitions.join(",\n")} };
const loaded = {};
function require(name) {
  if (loaded[name]) return loaded[name].exports;
  const module = loaded[name] = { exports: {} };
  definitions[name](require, module, module.exports);
  return module.exports;
}
export const { createElement, useState, useSyncExternalStore } = require("react");
export const { createRoot } = require("react-dom/client");
`;
}
