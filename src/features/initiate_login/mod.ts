/** Sign-ins that a provider begins, by a link or a form to this application (OpenID Connect Core 1.0 section 4). */
import type { AuthConfig } from "@auth/core";
import type { ProviderContext } from "../../core/context.ts";
import type { Feature } from "../../instance/feature.ts";
import { later } from "../../utils/later.ts";

const beginInitiated = later(async () => (await import("./begin.ts")).beginInitiated);

/** What the providers have for it, in their order; the application may have mistaken its type. */
export function allowances({ providers }: AuthConfig): unknown[] {
  return providers.map((each) => (each as { readonly initiateLogin?: unknown }).initiateLogin ?? false);
}

export const initiateLogin: Feature = {
  problems: [[
    "FST_AUTHJS_PROVIDER_INVALID",
    ({ core, providers }) =>
      allowances(core).flatMap((allowance, index) => {
        const { id, server } = providers[index]!;
        if (typeof allowance !== "boolean") {
          return `\`initiateLogin\` of the provider "${id}" must be true or false.`;
        }
        if (!allowance || server.issuer !== undefined) return [];
        return `\`initiateLogin\` of the provider "${id}" needs its \`issuer\`, which its links name. Set it, ` +
          "or leave `initiateLogin` out.";
      }),
  ]],
  configure({ core, providers }) {
    const allowed = allowances(core);
    const ids = new Set(providers.filter((_, index) => allowed[index] === true).map(({ id }) => id));
    // In a frame nobody would see who signs in.
    const isServed = ({ action, provider, request }: Pick<ProviderContext, "action" | "request"> & {
      readonly provider?: { readonly id: string } | undefined;
    }) =>
      action === "signin" && ids.has(provider?.id ?? "") &&
      (request.headers["sec-fetch-dest"] ?? "document") === "document";
    return {
      takesForms: isServed,
      onAnswer: async (context, answer) =>
        !context.fromApplication && isServed(context)
          ? await beginInitiated(context as ProviderContext, answer)
          : await answer(),
    };
  },
};
