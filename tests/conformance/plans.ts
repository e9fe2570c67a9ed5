/**
 * The plans of the OpenID Foundation's conformance suite for relying parties that the plugin is built for, with all
 * of their modules. The suite itself needs a public address; what its modules do and check is done here by a provider
 * on loopback, from their source (openid-certification/conformance-suite).
 */
import { BASIC, FORM_POST } from "./basic.ts";
import { CONFIG } from "./config.ts";
import type { Plan } from "./module.ts";
import { BACK_CHANNEL, RP_INITIATED } from "./sign_out.ts";

/** In the order of the table in docs/security.md, which is generated from it. */
export const PLANS: readonly Plan[] = [BASIC, FORM_POST, CONFIG, RP_INITIATED, BACK_CHANNEL];
