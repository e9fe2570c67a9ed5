/**
 * The results over HTTP as a bar chart, legible on light and on dark pages.
 *
 * @module
 */
import type { ContestantName } from "./http.ts";
import { median } from "./statistics.ts";
import { KNOWN_USER, type Measured, titleOf } from "./report.ts";

const WIDTH = 860;
const LABELS = 370;
const FIGURES = 150;
const ROW = 30;
const TOP = 64;

/** Draws the share of bare Fastify's rate that each contestant keeps, on the newest Node that was measured. */
export function chart({ runtimes, date }: Measured): string {
  const { name: runtime, passes } = runtimes.findLast(({ name }) => name.startsWith("Node")) ?? runtimes[0]!;
  const bars = KNOWN_USER.map((name) => ({
    name,
    share: median(passes.map(({ http }) => http[name].ofBare)),
    rate: median(passes.map(({ http }) => http[name].perSecond)),
  })).sort((a, b) => b.share - a.share);
  const height = TOP + bars.length * ROW + 34;
  const title = "Requests a second to a route that reads the session";
  const described = bars.map(({ name, share }) => `${titleOf(name)}: ${percent(share)}`).join("; ");
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" \
role="img" aria-labelledby="title description">
  <title id="title">${title}</title>
  <desc id="description">${described}</desc>
  <style>
    text { font: 14px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328; }
    .title { font-size: 17px; font-weight: 600; }
    .small { font-size: 12px; fill: #59636e; }
    .own text { font-weight: 600; }
    rect { fill: #9aa4af; }
    .own rect { fill: #0969da; }
    line { stroke: #d1d9e0; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; }
      .small { fill: #9198a1; }
      rect { fill: #6e7681; }
      .own rect { fill: #4493f8; }
      line { stroke: #3d444d; }
    }
  </style>
  <text class="title" x="0" y="20">${title}</text>
  <text class="small" x="0" y="42">in proportion to Fastify without a session, and requests a second; longer is better</text>
  <line x1="${LABELS}" x2="${LABELS}" y1="${TOP - 6}" y2="${height - 30}"/>
${bars.map((bar, index) => row(bar, TOP + index * ROW)).join("\n")}
  <text class="small" x="0" y="${
    height - 6
  }">${runtime}, ${date}; bench/ measures it again: deno task bench</text>
</svg>
`;
}

function row(
  { name, share, rate }: { name: ContestantName; share: number; rate: number },
  top: number,
): string {
  const width = Math.max(2, Math.round(share * (WIDTH - LABELS - FIGURES)));
  const figures = `${percent(share)}  ·  ${Math.round(rate).toLocaleString("en")}`;
  return `  <g${titleOf(name).startsWith("fastify-authjs") ? ' class="own"' : ""}>
    <text x="${LABELS - 12}" y="${top + 16}" text-anchor="end">${titleOf(name)}</text>
    <rect x="${LABELS}" y="${top + 2}" width="${width}" height="20" rx="2"/>
    <text x="${LABELS + width + 8}" y="${top + 16}">${figures}</text>
  </g>`;
}

const percent = (share: number) => `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
