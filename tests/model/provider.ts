/**
 * A provider whose refresh tokens can be used once each. The code of a sign-in says which user signs in.
 *
 * @module
 */
import type { Provider } from "fastify-authjs/providers";
import { acmeProvider } from "../support/token_provider.ts";
import type { Gates } from "./gates.ts";

/** In seconds. */
const LIFETIME = 60;

/** The provider. */
export class RotatingProvider {
  /** Refresh tokens that were used once more. */
  readonly reused: string[] = [];
  readonly #valid = new Set<string>();
  /** When access tokens expire, in milliseconds since 1970. */
  readonly #expiry = new Map<string, number>();
  readonly #gates: Gates;
  #issued = 0;

  readonly provider: Provider = acmeProvider((request) => this.#fetch(request));

  constructor(gates: Gates) {
    this.#gates = gates;
  }

  /** Whether an access token is valid. */
  accepts(accessToken: string): boolean {
    return this.#expiry.get(accessToken)! > Date.now();
  }

  /** New tokens of the same sign-in. */
  async refresh(refreshToken: string) {
    await this.#gates.pass("before the provider refreshes");
    if (!this.#valid.delete(refreshToken)) this.reused.push(refreshToken);
    const tokens = this.#issue(refreshToken.split("/")[0]!);
    await this.#gates.pass("after the provider refreshes");
    return tokens;
  }

  async #fetch(request: Request): Promise<Response> {
    if (new URL(request.url).pathname === "/userinfo") {
      const [name] = request.headers.get("authorization")!.match(/\w+(?=\.)/)!;
      return Response.json({ id: name, name, email: `${name}@acme.example` });
    }
    const form = new URLSearchParams(await request.text());
    const refreshToken = form.get("refresh_token");
    return Response.json(
      refreshToken === null ? this.#issue(form.get("code")!) : await this.refresh(refreshToken),
    );
  }

  /** @param signIn The user and the number of the sign-in: `ada.7`. */
  #issue(signIn: string) {
    const tokens = {
      access_token: `${signIn}/access-${++this.#issued}`,
      refresh_token: `${signIn}/refresh-${this.#issued}`,
      token_type: "bearer",
      expires_in: LIFETIME,
    };
    this.#valid.add(tokens.refresh_token);
    this.#expiry.set(tokens.access_token, Date.now() + LIFETIME * 1000);
    return tokens;
  }
}
