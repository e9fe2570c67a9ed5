import { Html } from "./html.ts";

const icon = (paths: string) =>
  new Html(
    `<svg class="icon" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.8" ` +
      `stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${paths}</svg>`,
  );

export const ICONS = {
  password: icon(
    '<rect x="3" y="7" width="18" height="10" rx="3"/><path d="M7.5 12h.01M12 12h.01M16.5 12h.01" stroke-width="2.6"/>',
  ),
  openid: icon('<circle cx="12" cy="8.5" r="3.5"/><path d="M5 20c.6-3.8 3.3-6 7-6s6.4 2.2 7 6"/>'),
  mail: icon('<rect x="3" y="5" width="18" height="14" rx="3"/><path d="m4 8 8 5.5L20 8"/>'),
  passkey: icon(
    '<circle cx="9" cy="8" r="3.5"/><path d="M3 20c.5-3.6 2.7-6 6-6 1.1 0 2.1.3 3 .8"/><circle cx="17" cy="13" r="2.5"/><path d="M17 15.5v5.5M17 18.5h2"/>',
  ),
  lock: icon('<rect x="5" y="11" width="14" height="9" rx="2.5"/><path d="M8 11V8a4 4 0 0 1 8 0v3"/>'),
  open: icon(
    '<circle cx="12" cy="12" r="9"/><path d="M3 12h18M12 3c5 5.5 5 12.5 0 18M12 3c-5 5.5-5 12.5 0 18"/>',
  ),
  braces: icon(
    '<path d="M9 4C6.5 4 7.5 7 7 9.5 6.8 11 5.8 12 4.5 12c1.3 0 2.3 1 2.5 2.5.5 2.5-.5 5.5 2 5.5M15 4c2.5 0 1.5 3 2 5.5.2 1.5 1.2 2.5 2.5 2.5-1.3 0-2.3 1-2.5 2.5-.5 2.5.5 5.5-2 5.5"/>',
  ),
  device: icon(
    '<rect x="3" y="5" width="12" height="9" rx="2"/><path d="M2 18h10"/><rect x="16" y="9" width="6" height="10" rx="1.5"/>',
  ),
  session: icon('<path d="M4 6h16M4 12h10M4 18h13"/>'),
} as const;
