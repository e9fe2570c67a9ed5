/** The results as one table and a chart. */
import { type GroupName, GROUPS } from "./http.ts";
import { OPERATION_NAMES } from "./operations.ts";
import { type Figure, figureOf, type Round } from "./rounds.ts";

export interface Measured extends Readonly<Record<GroupName, readonly Round[]>> {
  readonly runtime: string;
  readonly operations: readonly Round[];
  /** Milliseconds of CPU until the first request is answered. */
  readonly start: readonly { readonly port: number; readonly own: number }[];
}

export interface Machine {
  readonly date: string;
  readonly machine: string;
  readonly versions: Readonly<Record<string, string>>;
}

interface Row {
  readonly title: string;
  readonly figure: (measured: Measured) => Figure;
  /** @default none */
  readonly atLeast?: number;
  /** @default none */
  readonly atMost?: number;
}

const PEERS = [
  ...Object.entries(GROUPS.known).map(([name, { title }]) => ({ group: "known" as const, name, title })),
  ...Object.entries(GROUPS.slow).slice(1).map(([name, { title }]) => ({
    group: "slow" as const,
    name,
    title,
  })),
];

type Peer = typeof PEERS[number];

const rate = (round: Round, name: string) => round[name]!.perSecond;
const cpu = (round: Round, name: string) => round[name]!.cpu;
const shareOfBare = (measured: Measured, { group, name }: Peer) =>
  figureOf(measured[group], (round) => rate(round, name) / rate(round, "bare"));

const SECTIONS: readonly (readonly [title: string, rows: readonly Row[]])[] = [
  [
    "**A route that answers with the session's user: share of bare Fastify's requests a second**",
    PEERS.slice(1).map((peer) => ({
      title: peer.title,
      figure: (measured) => shareOfBare(measured, peer),
      ...(peer.name === "typical" && { atLeast: 0.6 }),
    })),
  ],
  ["**Proportions**", [
    {
      title: "callbacks for id and role against @fastify/secure-session, requests a second",
      figure: ({ known }) => figureOf(known, (round) => rate(round, "typical") / rate(round, "secureSession")),
      atLeast: 1,
    },
    {
      title: "what a read through core takes against ours: CPU beside that of bare Fastify",
      figure: ({ known }) =>
        figureOf(known, (round) => {
          const beside = (name: string) => cpu(round, name) - cpu(round, "bare");
          return beside("port") / Math.max(beside("own"), 1);
        }),
      atLeast: 25,
    },
    {
      title: "12,000 users in turn, callbacks for id and role: CPU against decrypting by hand",
      figure: ({ many }) => figureOf(many, (round) => cpu(round, "typical") / cpu(round, "byHand")),
      atMost: 1.3,
    },
    {
      title: "an access token seen before, by a guard: CPU against @fastify/jwt with its cache",
      figure: ({ access }) => figureOf(access, (round) => cpu(round, "own") / cpu(round, "jwtCached")),
      atMost: 1.3,
    },
    {
      title: "a forged session cookie against none: CPU",
      figure: ({ anyClient }) => figureOf(anyClient, (round) => cpu(round, "forged") / cpu(round, "anonymous")),
      atMost: 3.5,
    },
    {
      title: "start, first request answered: CPU against a port of core",
      figure: ({ start }) => figureOf(start, ({ own, port }) => own / port),
      atMost: 1.2,
    },
  ]],
  [
    "**Operations: CPU of the server against a port of core**",
    OPERATION_NAMES.map((name) => ({
      title: name,
      figure: ({ operations }) =>
        figureOf(operations, (round) => cpu(round, `own ${name}`) / cpu(round, `port ${name}`)),
      atMost: 1,
    })),
  ],
];

/** The table, with what it was measured on. */
export function table(results: readonly Measured[], { date, machine, versions }: Machine): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rows = SECTIONS.flatMap(([title, rows]) => [
    line([title, "", ...results.map(() => "")]),
    ...rows.map((row) => line([row.title, limitOf(row), ...results.map((measured) => cell(row, measured))])),
  ]);
  const packages = Object.entries(versions).map(([name, version]) => `${name} ${version}`).join(", ");
  return [
    `Measured on ${date}, on ${machine}, with ${packages}.`,
    [
      line(["", "target", ...results.map(({ runtime }) => runtime)]),
      line(["---", "--:", ...results.map(() => "--:")]),
      ...rows,
    ].join("\n"),
  ].join("\n\n");
}

function limitOf({ atLeast, atMost }: Row): string {
  if (atLeast !== undefined) return `≥ ${atLeast}`;
  return atMost === undefined ? "" : `≤ ${atMost}`;
}

/** The median, and the range that half of the rounds are in; marked if the median misses the target. */
function cell({ figure, atLeast = -Infinity, atMost = Infinity }: Row, measured: Measured): string {
  const { median, low, high } = figure(measured);
  if (Number.isNaN(median)) return "";
  const missed = median < atLeast || median > atMost ? " ✗" : "";
  return `${digits(median)}${missed} (${digits(low)}–${digits(high)})`;
}

const digits = (value: number) => value >= 10 ? value.toFixed(0) : value.toFixed(value < 0.1 ? 3 : 2);

const WIDTH = 860, LABELS = 370, FIGURES = 150, ROW = 30, TOP = 64;

/** Draws the share of bare Fastify's rate that each contestant keeps, on the newest Node that was measured. */
export function chart(results: readonly Measured[], { date }: Machine): string {
  const measured = results.findLast(({ runtime }) => runtime.startsWith("Node")) ?? results[0]!;
  const bars = PEERS.map((peer) => ({
    title: peer.title,
    share: shareOfBare(measured, peer).median,
    perSecond: figureOf(measured[peer.group], (round) => rate(round, peer.name)).median,
  })).sort((a, b) => b.share - a.share);
  const height = TOP + bars.length * ROW + 34;
  const title = "Requests a second to a route that reads the session";
  const described = bars.map(({ title, share }) => `${title}: ${percent(share)}`).join("; ");
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
${bars.map((bar, index) => drawBar(bar, TOP + index * ROW)).join("\n")}
  <text class="small" x="0" y="${height - 6}">${measured.runtime}, ${date}; deno task bench measures it again</text>
</svg>
`;
}

function drawBar(
  { title, share, perSecond }: { title: string; share: number; perSecond: number },
  top: number,
): string {
  const width = Math.max(2, Math.round(share * (WIDTH - LABELS - FIGURES)));
  const figures = `${percent(share)}  ·  ${Math.round(perSecond).toLocaleString("en")}`;
  return `  <g${title.startsWith("fastify-authjs") ? ' class="own"' : ""}>
    <text x="${LABELS - 12}" y="${top + 16}" text-anchor="end">${title}</text>
    <rect x="${LABELS}" y="${top + 2}" width="${width}" height="20" rx="2"/>
    <text x="${LABELS + width + 8}" y="${top + 16}">${figures}</text>
  </g>`;
}

const percent = (share: number) => `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
