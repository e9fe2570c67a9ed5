/** JSON values as YAML. */
/** Writes a value as YAML 1.2, of which JSON is a part: in blocks, with JSON's scalars. */
export function toYaml(value: unknown): string {
  return `${blockOf(JSON.parse(JSON.stringify(value)), "").trimStart()}\n`;
}

function blockOf(value: unknown, indent: string): string {
  if (typeof value !== "object" || value === null || Object.keys(value).length === 0) {
    return ` ${JSON.stringify(value)}`;
  }
  const inner = `${indent}  `;
  return Array.isArray(value)
    ? value.map((item) => `\n${indent}-${blockOf(item, inner)}`).join("")
    : Object.entries(value).map(([key, item]) => `\n${indent}${JSON.stringify(key)}:${blockOf(item, inner)}`)
      .join("");
}
