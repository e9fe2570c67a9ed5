import type { UserSession } from "fastify-authjs";
import { type Html, html } from "./html.ts";
import { ICONS } from "./icons.ts";
import { layout, type View } from "./layout.ts";

/** Where a user is signed in, with buttons that end these sessions. */
export function devicesPage(view: View, sessions: readonly UserSession[]): Html {
  const devices = sessions.length === 1 ? "one device" : `${inWords(sessions.length)} devices`;
  return layout(
    view,
    "Devices",
    html`
      <h1>Signed in on ${devices}</h1>
      <p
        class="lead">Each sign-in has a session of its own. A session that you end here is over with the next request of its browser.</p>
      <ul class="links">${sessions.map(deviceItem)}</ul>
      ${sessions.length > 1 && html`
        <p class="actions"><button class="large" data-end="" disabled>Sign out everywhere else</button></p>
      `}
    `,
    "/assets/devices.js",
  );
}

function deviceItem({ id, current, createdAt, lastSeenAt, userAgent = "" }: UserSession): Html {
  const device = deviceName(userAgent);
  return html`
    <li class="item">
      <span class="tile">${ICONS.device}</span>
      <span class="grow">
        <strong>${device}${current && " (this device)"}</strong>
        <span>Signed in ${toTime(createdAt)}, last seen ${toTime(lastSeenAt)}</span>
      </span>
      ${!current &&
        html`<button class="quiet" data-end="${id}" aria-label="Sign out ${device}" disabled>Sign out</button>`}
    </li>
  `;
}

/** A rough name, which is all that a User-Agent header is good for. */
function deviceName(userAgent: string): string {
  const find = (names: string[]) => names.find((name) => userAgent.includes(name));
  const browser = find(["Firefox", "Edg", "OPR", "Chrome", "Safari"]);
  const system = find(["Android", "iPhone", "iPad", "Windows", "Mac OS", "Linux"]);
  const name = { Edg: "Edge", OPR: "Opera" }[browser ?? ""] ?? browser ?? "A browser";
  return system ? `${name} on ${system}` : name;
}

function toTime(date: Date | undefined): string {
  return date === undefined ? "–" : `${date.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

const WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];

function inWords(count: number): string {
  return WORDS[count] ?? String(count);
}
