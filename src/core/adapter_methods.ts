/** The methods of an adapter that core asks for, whatever the providers of this configuration need. */
import type { Adapter } from "@auth/core/adapters";
import { ADAPTER_METHODS } from "../adapter/bind.ts";

/**
 * Every method, for adapters that lack some. Core remembers that a configuration of the process had mails or
 * passkeys, and then asks every configuration for their methods; what each really needs is checked at boot.
 */
export const MISSING_METHODS: Adapter = Object.fromEntries(ADAPTER_METHODS.map((method) => [method, () => {
  throw new TypeError(`The adapter has no ${method}()`);
}]));
