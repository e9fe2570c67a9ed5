/** The accounts that a user has linked. */
import type { Feature } from "../../instance/feature.ts";
import { later } from "../../utils/later.ts";

const onLink = later(async () => (await import("./link.ts")).finishLink);

export const accounts: Feature = { configure: () => ({ onLink }) };
