/** The accounts that a user has linked. */
import { later } from "../../utils/later.ts";
import type { Feature } from "../feature.ts";

const onLink = later(async () => (await import("./link.ts")).finishLink);
export const accounts: Feature = { configure: () => ({ onLink }) };
