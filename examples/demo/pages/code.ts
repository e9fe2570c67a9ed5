import { type Html, html } from "./html.ts";

const TOKENS =
  /(?<comment>\/\/.*)|(?<string>"[^"\n]*"|`[^`]*`)|(?<keyword>\b(?:import|from|const|await|async|function|return|if|new|null|true|false)\b)|(?<number>\b\d+\b)/g;

/** A block of TypeScript or JSON with its words in colour. */
export function codeBlock(source: string, label: string): Html {
  const parts: Html[] = [];
  let end = 0;
  for (const match of source.matchAll(TOKENS)) {
    const [text] = match;
    const kind = Object.entries(match.groups ?? {}).find(([, value]) => value !== undefined)?.[0];
    parts.push(html`${source.slice(end, match.index)}<span class="${kind}">${text}</span>`);
    end = match.index + text.length;
  }
  // Focusable, since it may scroll sideways and there is nothing in it to focus.
  return html`
    <pre class="code" tabindex="0" role="region"
      aria-label="${label}"><code>${parts}${source.slice(end)}</code></pre>
  `;
}
