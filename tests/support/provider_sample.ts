/**
 * What a provider is known to do: the requests it expects and the answers it gives, as its own documentation has them.
 *
 * Nothing here is read off the provider's module: that is what is tested.
 *
 * @module
 */

/** An object that came or goes as JSON. */
export type Json = Record<string, unknown>;

/** How a callback is protected. */
export type Check = "pkce" | "state" | "nonce";

/** A request to the provider and its answer. */
export interface Exchange {
  /** @default "GET" */
  method?: string;
  /** The address, query included. */
  url: string;
  /** Headers that have to be there; `authorization` is the access token as a bearer unless it is said otherwise. */
  headers?: Record<string, string | undefined>;
  /** The JSON body that has to be there. */
  body?: Json;
  /** What comes back: JSON, or bytes. */
  answer: Json | unknown[] | Uint8Array;
  /** @default 200 */
  status?: number;
}

/** One provider. */
export interface ProviderSample {
  /** Its id, if that is not the name of the module. */
  id?: string;
  /** What it is configured with, besides `clientId` and `clientSecret`. */
  options?: Json;
  /** Where the browser is sent to. */
  authorize: {
    /** Without its query. */
    url: string;
    /** Every parameter but those of OAuth itself and of the checks. */
    params: { scope: string } & Record<string, string>;
    /** @default "code" */
    responseType?: string;
    /** What follows the "#". */
    fragment?: string;
  };
  /** What protects the callback. */
  checks: Check[];
  /** Discovery documents by address. */
  documents?: Record<string, Json>;
  /** How a code becomes tokens. */
  token: {
    /** The address, query included. */
    url: string;
    /** How the application names itself: with HTTP Basic, or in the body. */
    auth: "basic" | "body";
    /** Parameters of the body besides those of OAuth itself. */
    params?: Record<string, string>;
    /** What comes back. An `id_token` is added if `idToken` has claims. */
    answer: Json;
    /** Headers that come back. */
    headers?: Record<string, string>;
  };
  /** Claims of the ID token, besides `aud`, `iat`, `exp` and `nonce`; null leaves one of these out. */
  idToken?: { iss: string } & Json;
  /** @default "RS256" */
  idTokenAlgorithm?: "RS256" | "HS256";
  /** What comes back with the code, as a form that the browser posts. */
  posts?: Record<string, string>;
  /** How the user's data are asked for, in this order; none if they are in the ID token. */
  userinfo?: Exchange[];
  /** Whether the user's data come as a signed JWT. */
  signedUserinfo?: boolean;
  /** What core asks with the global `fetch`, past `customFetch`. */
  globalFetch?: ("discovery" | "token" | "userinfo")[];
  /** The user that comes out of it: `id` is that of the account, what is left out is not in the session. */
  user: { id: string; name?: string | null; email?: string; image?: string | null };
  /** For `docs/providers.md`: what to know before using it. */
  note?: string;
}

/** Samples by the name of the provider's module. */
export type ProviderSamples = Readonly<Record<string, ProviderSample>>;

/** What the application is registered with at every provider. */
export const CLIENT = { id: "client-1234", secret: "client-secret-5678" };

/** A usual token response. */
export const TOKENS: Json = { access_token: "access-9012", token_type: "Bearer", expires_in: 3600 };

/** The authorization code that every provider gives out. */
export const CODE = "code-4711";
