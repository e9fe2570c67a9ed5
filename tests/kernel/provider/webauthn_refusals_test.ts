import { Buffer } from "node:buffer";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { generateKeyPairSync, sign } from "node:crypto";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { FastifyAuthConfig } from "fastify-authjs";
import Passkey from "fastify-authjs/providers/passkey";
import WebAuthn from "fastify-authjs/providers/webauthn";
import { captureLog, type LogLine, testApp } from "../../support/app.ts";
import { attemptsOf } from "../../support/attempts.ts";
import { type Answer, setCookies } from "../../support/client.ts";
import { withClock } from "../../support/clock.ts";
import {
  emptyTables,
  ORIGIN,
  PROVIDERS,
  WebAuthnClient,
  webAuthnConfig,
  type WebAuthnTables,
} from "../../support/webauthn.ts";
import {
  cbor,
  type CborMap,
  type CredentialJson,
  type Deviations,
  isShort,
  SoftwareAuthenticator,
} from "../../support/webauthn_authenticator.ts";

const EMAIL = "ada@example.com";
const REFUSED = `${ORIGIN}/auth/error?error=WebAuthnVerificationError`;

interface Scene {
  readonly app: Awaited<ReturnType<typeof testApp>>;
  readonly tables: WebAuthnTables;
  readonly lines: LogLine[];
  /** Ada's, registered. */
  readonly device: SoftwareAuthenticator;
  /** Signed out. */
  readonly client: WebAuthnClient;
}

/** Ada has an account and an authenticator, and there is no session. */
async function setUp(
  overrides: Partial<FastifyAuthConfig> = {},
  { provider = "passkey", counts = true } = {},
): Promise<Scene> {
  const { logger, lines } = captureLog();
  const tables = emptyTables();
  const app = await testApp(webAuthnConfig(tables, overrides), { logger });
  const device = new SoftwareAuthenticator(ORIGIN, counts);
  const client = new WebAuthnClient(app, provider);
  await client.register(device, { email: EMAIL });
  assertEquals((await client.user())?.email, EMAIL);
  await client.signOut();
  lines.length = 0;
  return { app, tables, lines, device, client };
}

/** The cookie of the attempt that a browser has begun last. */
function attemptIn({ cookies }: WebAuthnClient): [name: string, value: string] {
  const name = attemptsOf({ cookies }).at(-1)!;
  return [name, cookies.get(name)!];
}

/** There is no session, the challenge is cleared, the response is no server error, and the log has one short line. */
async function assertRefused(
  { lines }: Scene,
  client: WebAuthnClient,
  answer: Answer,
  reason: RegExp,
  keepsChallenge = false,
) {
  const isUnknown = /(?:authenticator|account) not found/.test(reason.source);
  const location = isUnknown ? `${REFUSED}&code=unknown_passkey` : REFUSED;
  assertEquals([answer.statusCode, answer.headers.location], [302, location]);
  assertEquals(attemptsOf(client).length > 0, keepsChallenge);
  assert(!setCookies(answer).some((line) => line.includes("session-token=")));
  assertEquals(await client.user(), null);
  assertEquals((await client.get("/auth/error?error=WebAuthnVerificationError")).statusCode, 200);
  const said = lines.filter(({ authjs }) => authjs !== undefined);
  assertEquals(said.map(({ level }) => level), [40], JSON.stringify(said));
  const { type, message, stack } = said[0]!.authjs as Record<string, string>;
  assertEquals([type, stack], ["WebAuthnVerificationError", undefined]);
  assert(reason.test(message!), `${message} is not ${reason}`);
  assert(message!.length < 400);
  lines.length = 0;
}

/** It leads to no attempt, so that the one that has begun stays. */
const OTHER_CHALLENGE = "with another challenge";

const SIGN_INS: [what: string, origin: string, deviations: Deviations, reason: RegExp][] = [
  ["from another host", "https://evil.example", {}, /response origin "https:\/\/evil\.example"/],
  ["from a look-alike host", "https://app.example.evil.example", {}, /response origin/],
  ["from a subdomain", "https://beta.app.example", {}, /response origin/],
  ["from another port", "https://app.example:8443", {}, /response origin/],
  ["without TLS", "http://app.example", {}, /response origin "http:/],
  ["from an app", "android:apk-key-hash:abc", {}, /response origin "android:/],
  ["from an origin as long as a body may be", `https://${"a".repeat(70_000)}.example`, {}, /response origin/],
  ["for another relying party", ORIGIN, { rpId: "evil.example" }, /RP ID/],
  ["for a subdomain's relying party", ORIGIN, { rpId: "beta.app.example" }, /RP ID/],
  [OTHER_CHALLENGE, ORIGIN, { challenge: "b3RoZXI" }, /no cookie for "challenge"/],
  ["with the ceremony of a registration", ORIGIN, { type: "webauthn.create" }, /response type/],
  ["without a person", ORIGIN, { userPresent: false }, /not present/],
  ["without knowing which person", ORIGIN, { userVerified: false }, /could not be verified/],
];

for (const [provider, factory] of Object.entries(PROVIDERS)) {
  for (const [what, origin, deviations, reason] of SIGN_INS) {
    Deno.test(`${provider}: refuses to sign in ${what}`, async () => {
      const scene = await setUp({ providers: [factory] }, { provider });
      const { client, device } = scene;
      const answer = await client.authenticate(device.at(origin), deviations);
      await assertRefused(scene, client, answer, reason, what === OTHER_CHALLENGE);
      assertEquals((await client.authenticate(device)).headers.location, ORIGIN);
    });

    if (what.startsWith("with the ceremony")) continue;
    Deno.test(`${provider}: refuses to register ${what}`, async () => {
      const scene = await setUp({ providers: [factory] }, { provider });
      const device = new SoftwareAuthenticator(origin);
      const answer = await scene.client.register(device, { email: "grace@example.com", ...deviations });
      await assertRefused(scene, scene.client, answer, reason, what === OTHER_CHALLENGE);
      const { users, accounts, authenticators } = scene.tables;
      assertEquals([users.size, accounts.length, authenticators.size], [1, 1, 1]);
    });
  }
}

Deno.test("passkeys: refuses another key's signature, and one over something else", async () => {
  const scene = await setUp();
  const { client, device } = scene;
  const other = new SoftwareAuthenticator(ORIGIN);
  other.create({ challenge: "", rp: { id: "app.example" } }, { id: device.credentials[0]!.id });
  await assertRefused(scene, client, await client.authenticate(other), /could not be verified/);

  const { options } = await client.options();
  const credential = device.get(options);
  const authData = Buffer.from(String(credential.response.authenticatorData), "base64url");
  authData.writeUInt32BE(4_000_000, 33); // the counter, which would lock its owner out
  credential.response.authenticatorData = authData.toString("base64url");
  await assertRefused(scene, client, await client.send("authenticate", credential), /could not be verified/);
  assertEquals([...scene.tables.authenticators.values()][0]!.counter, 1);
});

for (const counts of [true, false]) {
  const kind = counts ? "an authenticator that counts" : "a passkey without a counter";
  Deno.test(`passkeys: the answer of ${kind} cannot be sent again`, async () => {
    const scene = await setUp({}, { counts });
    const { app, client, device } = scene;
    const { options } = await client.options();
    const kept = attemptIn(client);
    const credential = device.get(options);
    assertEquals((await client.send("authenticate", credential)).headers.location, ORIGIN);
    // A browser has not got the challenge any more.
    const browser = new WebAuthnClient(app);
    await assertRefused(
      scene,
      browser,
      await browser.send("authenticate", credential),
      /no cookie for "challenge"/,
    );
    // An attacker who recorded the request has them.
    const thief = new WebAuthnClient(app);
    thief.cookies.set(...kept);
    const reason = counts ? /counter value 2 was lower than expected 2/ : /answered before/;
    await assertRefused(scene, thief, await thief.send("authenticate", credential), reason);
  });
}

Deno.test("passkeys: an hour later the challenges that were answered are forgotten, and a new one counts", async () => {
  const { client, device } = await setUp({}, { counts: false });
  assertEquals((await client.authenticate(device)).headers.location, ORIGIN);
  await withClock(async (clock) => {
    clock.now += 3_600_000;
    assertEquals((await client.authenticate(device)).headers.location, ORIGIN);
  });
});

Deno.test("passkeys: of two answers to one challenge that come at once, one counts", async () => {
  const { app, client, device } = await setUp({}, { counts: false });
  const { options } = await client.options();
  const kept = attemptIn(client);
  const credential = device.get(options);
  const answers = await Promise.all(Array.from({ length: 5 }, () => {
    const each = new WebAuthnClient(app);
    each.cookies.set(...kept);
    return each.send("authenticate", credential);
  }));
  assertEquals(answers.map(({ headers }) => headers.location).sort(), [ORIGIN, ...Array(4).fill(REFUSED)]);
});

Deno.test("passkeys: a registration cannot be sent again, nor its challenge be answered by a second authenticator", async () => {
  const scene = await setUp();
  const { app, client, tables } = scene;
  const { options } = await client.options({ action: "register", email: "grace@example.com" });
  const kept = attemptIn(client);
  const credential = new SoftwareAuthenticator(ORIGIN).create(options);
  assertEquals((await client.send("register", credential)).headers.location, ORIGIN);
  for (const again of [credential, new SoftwareAuthenticator(ORIGIN).create(options)]) {
    const thief = new WebAuthnClient(app);
    thief.cookies.set(...kept);
    await assertRefused(scene, thief, await thief.send("register", again), /answered before/);
  }
  assertEquals([tables.users.size, tables.accounts.length, tables.authenticators.size], [2, 2, 2]);
});

Deno.test("passkeys: refuses a challenge that is over, of another browser, of another secret, or for something else", async () => {
  const scene = await setUp({ providers: [Passkey, WebAuthn({ enableConditionalUI: false })] });
  const { app, client, device, tables } = scene;
  const refuse = async (
    kept: [name: string, value: string] | undefined,
    action: string,
    credential: CredentialJson,
    reason: RegExp,
    keepsChallenge = false,
  ) => {
    const browser = new WebAuthnClient(app);
    if (kept !== undefined) browser.cookies.set(...kept);
    await assertRefused(scene, browser, await browser.send(action, credential), reason, keepsChallenge);
  };
  const { options } = await client.options();
  const [name, sealed] = attemptIn(client);
  const credential = device.get(options);
  const noCookie = /no cookie for "challenge"/;
  await refuse(undefined, "authenticate", credential, noCookie);
  await refuse([name, "garbage"], "authenticate", credential, noCookie, true);

  const other = new WebAuthnClient(app);
  await other.options();
  await refuse(attemptIn(other), "authenticate", credential, noCookie, true);
  await refuse([name, attemptIn(other)[1]], "authenticate", credential, noCookie, true);

  await withClock(async (clock) => {
    clock.now += 901_000;
    await refuse([name, sealed], "authenticate", credential, /over 15 minutes ago/, true);
  });
  const elsewhere = new WebAuthnClient(app, "webauthn");
  const asked = await elsewhere.options({ action: "authenticate" });
  await refuse(attemptIn(elsewhere), "authenticate", device.get(asked.options), noCookie);
  // Another process may have that secret, while it is rotated.
  const rotated = await testApp(webAuthnConfig(tables, { secret: "x".repeat(40) }));
  const there = new WebAuthnClient(rotated);
  const { options: later } = await there.options();
  await refuse(attemptIn(there), "authenticate", device.get(later), noCookie, true);

  // A challenge for signing in cannot be used to register.
  await refuse(
    [name, sealed],
    "register",
    new SoftwareAuthenticator(ORIGIN).create(options),
    /Missing user registration/,
  );
  assertEquals(scene.tables.users.size, 1);
});

Deno.test("passkeys: a cloned authenticator is found out by its counter, and its original goes on working", async () => {
  const scene = await setUp();
  const { client, device, tables } = scene;
  const clone = device.clone();
  assertEquals((await client.authenticate(device)).headers.location, ORIGIN);
  await client.signOut();
  // The same count, then one that went back.
  const behind = /counter value 2 was lower than expected [23]/;
  await assertRefused(scene, client, await client.authenticate(clone.clone()), behind);
  assertEquals((await client.authenticate(device)).headers.location, ORIGIN);
  await client.signOut();
  await assertRefused(scene, client, await client.authenticate(clone.clone()), behind);
  assertEquals([...tables.authenticators.values()].map(({ counter }) => counter), [3]);
  assertEquals((await client.authenticate(device)).headers.location, ORIGIN);
});

Deno.test("passkeys: an authenticator that was removed cannot sign in, nor can one whose account or user is gone", async () => {
  const removals: [(tables: WebAuthnTables) => void, RegExp][] = [
    [({ authenticators }) => authenticators.clear(), /authenticator not found/],
    [({ accounts }) => accounts.splice(0), /account not found/],
    [({ users }) => users.clear(), /user not found/],
  ];
  for (const [remove, reason] of removals) {
    const scene = await setUp();
    remove(scene.tables);
    await assertRefused(scene, scene.client, await scene.client.authenticate(scene.device), reason);
  }
});

Deno.test("passkeys: a user cannot take over a credential by registering with its id", async () => {
  const providers = [Passkey, WebAuthn({ enableConditionalUI: false })];
  for (const provider of ["passkey", "webauthn"]) {
    for (const signedIn of [false, true]) {
      const scene = await setUp({ providers });
      const { app, device, tables } = scene;
      const id = device.credentials[0]!.id;
      const key = [...tables.authenticators.values()][0]!.credentialPublicKey;
      const mallory = new WebAuthnClient(app, provider);
      if (signedIn) {
        await mallory.register(new SoftwareAuthenticator(ORIGIN), { email: "mallory@example.com" });
        assertEquals(tables.authenticators.size, 2);
        scene.lines.length = 0;
      }
      const before = await mallory.user();
      const thief = new SoftwareAuthenticator(ORIGIN);
      const email = signedIn ? {} : { email: "mallory@example.com" };
      const answer = await mallory.register(thief, { ...email, id });
      assertEquals(answer.headers.location, REFUSED);
      assertEquals(await mallory.user(), before);
      assertStringIncludes(JSON.stringify(scene.lines), "registered already");
      assertEquals(tables.authenticators.get(id.toString("base64"))!.credentialPublicKey, key);
      assertEquals(tables.accounts.length, signedIn ? 2 : 1);
      assertEquals(tables.sessions.size, signedIn ? 1 : 0);

      const client = new WebAuthnClient(app);
      assertEquals((await client.authenticate(thief)).headers.location, REFUSED);
      await client.authenticate(device);
      assertEquals((await client.user())?.email, EMAIL);
    }
  }
});

Deno.test("passkeys: a signed-in user does not become another user by that user's passkey", async () => {
  for (const strategy of ["jwt", "database"] as const) {
    const { client, app, device } = await setUp({ session: { strategy } });
    const grace = new WebAuthnClient(app);
    await grace.register(new SoftwareAuthenticator(ORIGIN), { email: "grace@example.com" });
    // The options for a signed-in user name her own authenticators. A script can ignore that.
    const { challenge } = (await grace.options({ action: "authenticate" })).options;
    const answer = await grace.send("authenticate", device.get({ challenge }));
    assertEquals(answer.headers.location, `${ORIGIN}/auth/signin?error=AccountNotLinked`);
    assertEquals((await grace.user())?.email, "grace@example.com");
    assertEquals(await client.user(), null);
  }
});

Deno.test("passkeys: without a session an address that has an account is not registered a second time", async () => {
  const { client, tables } = await setUp();
  const { options } = await client.options({ action: "register", email: "grace@example.com" });
  tables.users.set("2", { id: "2", email: "grace@example.com", emailVerified: new Date() });
  const answer = await client.send("register", new SoftwareAuthenticator(ORIGIN).create(options));
  assertEquals(answer.headers.location, `${ORIGIN}/auth/signin?error=AccountNotLinked`);
  assertEquals([tables.users.size, tables.authenticators.size], [2, 1]);
  assertEquals(await client.user(), null);
});

Deno.test("passkeys: the signIn callback refuses a user, with a page of its own as well", async () => {
  const answers: [unknown, string][] = [
    [false, `${ORIGIN}/auth/error?error=AccessDenied`],
    ["/banned", `${ORIGIN}/banned`],
    [`${ORIGIN}/banned?why=1`, `${ORIGIN}/banned?why=1`],
    [new URL("/banned", ORIGIN), `${ORIGIN}/banned`],
    ["https://evil.example/", ORIGIN],
  ];
  for (const [decision, location] of answers) {
    let decide: unknown = true;
    const scene = await setUp({ callbacks: { signIn: () => decide as boolean } });
    const { client, device, tables, lines } = scene;
    decide = decision;
    for (const action of ["authenticate", "register"] as const) {
      const answer = action === "register"
        ? await client.register(new SoftwareAuthenticator(ORIGIN), { email: "grace@example.com" })
        : await client.authenticate(device);
      assertEquals(answer.headers.location, location);
      assertEquals(attemptsOf(client), []);
      assertEquals(await client.user(), null);
    }
    assertEquals([tables.users.size, tables.authenticators.size, tables.sessions.size], [1, 1, 0]);
    assertEquals(lines.filter(({ level }) => level > 40), []);

    const { options } = await client.options();
    const headers = { "x-auth-return-redirect": "1" };
    const form = { action: "authenticate", data: JSON.stringify(device.get(options)) };
    const json = await client.request("POST", "/auth/callback/passkey", { form, headers });
    assertEquals([json.statusCode, json.json()], [200, { url: location }]);
    assertEquals(await client.user(), null);
  }
});

Deno.test("passkeys: a certificate in an attestation is refused before anything is asked at the address in it", async () => {
  let asked = 0;
  const server = createServer((_request, response) => {
    asked++;
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const x5c = [certificate(`http://127.0.0.1:${port}/revoked`)];
    for (
      const fmt of ["apple", "packed", "fido-u2f", "android-key", "tpm", "android-safetynet", "nonsense"]
    ) {
      const scene = await setUp();
      const attStmt: CborMap = new Map([["x5c", x5c]]);
      const attestation = () => ({ fmt, attStmt });
      const answer = await scene.client.register(new SoftwareAuthenticator(ORIGIN), {
        email: "grace@example.com",
        attestation,
      });
      await assertRefused(scene, scene.client, answer, /none was asked for/);
    }
    assertEquals(asked, 0);
  } finally {
    server.close();
  }
});

/** As much of an X.509 certificate (RFC 5280) as is read on the way to its list of revoked ones. */
function certificate(revocationList: string): Buffer {
  const der = (tag: number, ...parts: Buffer[]) => {
    const content = Buffer.concat(parts);
    const long = content.length > 127;
    const length = long ? [0x82, content.length >> 8, content.length & 255] : [content.length];
    return Buffer.concat([Buffer.from([tag, ...length]), content]);
  };
  const oid = (hex: string) => der(6, Buffer.from(hex, "hex"));
  const sequence = (...parts: Buffer[]) => der(0x30, ...parts);
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = sequence(oid("2a8648ce3d040302"));
  const name = sequence(der(0x31, sequence(oid("550403"), der(0x0c, Buffer.from("x")))));
  const time = (year: string) => der(0x17, Buffer.from(`${year}0101000000Z`));
  const points = sequence(sequence(der(0xa0, der(0xa0, der(0x86, Buffer.from(revocationList))))));
  const extensions = der(0xa3, sequence(sequence(oid("551d1f"), der(4, points))));
  const body = sequence(
    der(0xa0, der(2, Buffer.from([2]))),
    der(2, Buffer.from([1])),
    algorithm,
    name,
    sequence(time("20"), time("40")),
    name,
    publicKey.export({ format: "der", type: "spki" }),
    extensions,
  );
  const signature = Buffer.concat([Buffer.from([0]), sign("sha256", body, privateKey)]);
  return sequence(body, algorithm, der(3, signature));
}

Deno.test("passkeys: an authenticator may vouch for itself, and for more where it is asked to", async () => {
  const itself: Deviations["attestation"] = (signed, key) => {
    const sig = sign("sha256", signed, key);
    // Only for signing in is the library's judgement of those looked at again.
    if (isShort(sig)) return undefined;
    return { fmt: "packed", attStmt: new Map<string, number | Buffer>([["alg", -7], ["sig", sig]]) };
  };
  const attested: FastifyAuthConfig["providers"] = [
    Passkey({ registrationOptions: { attestationType: "direct" } as never }),
  ];
  for (const providers of [[Passkey], attested]) {
    const { client } = await setUp({ providers });
    const answer = await client.register(new SoftwareAuthenticator(ORIGIN), {
      email: "grace@example.com",
      attestation: itself,
    });
    assertEquals(answer.headers.location, ORIGIN);
  }
  // Where it was asked for, it is looked at.
  const forged = await setUp({ providers: attested });
  const refused = await forged.client.register(new SoftwareAuthenticator(ORIGIN), {
    email: "grace@example.com",
    attestation: (signed, key) => itself(Buffer.concat([signed, Buffer.from("more")]), key),
  });
  await assertRefused(forged, forged.client, refused, /./);
  const scene = await setUp({ providers: attested });
  const answer = await scene.client.register(new SoftwareAuthenticator(ORIGIN), {
    email: "grace@example.com",
    attestation: () => ({ fmt: "packed", attStmt: new Map([["x5c", [certificate("http://127.0.0.1:1/")]]]) }),
  });
  await assertRefused(scene, scene.client, answer, /^(?!.*none was asked for)/);
});

/** What a client may send as `data`, made from what it should have sent. */
const MALFORMED: ((credential: CredentialJson) => string)[] = [
  () => "",
  () => "{",
  () => "null",
  () => "[]",
  () => "1",
  () => '"text"',
  () => "{}",
  () => '{"id":1}',
  () => '{"id":"x"}',
  () => '{"id":"x","response":null}',
  () => '{"id":"__proto__","response":{}}',
  ({ id }) => JSON.stringify({ id, response: {} }),
  ({ id, response }) => JSON.stringify({ id, rawId: "other", response }),
  (credential) => JSON.stringify({ ...credential, id: "=?\u0000" }),
  (credential) => JSON.stringify({ ...credential, id: "a".repeat(90_000) }),
  (credential) => JSON.stringify({ ...credential, type: "password" }),
  (credential) => JSON.stringify({ ...credential, response: [] }),
  ...["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle", "transports"]
    .flatMap((name) =>
      [
        null,
        1,
        {},
        [[]],
        "",
        "e30",
        "!",
        Buffer.from('{"type":', "latin1").toString("base64url"),
        "_".repeat(60_000),
      ]
        .map((value) => (credential: CredentialJson) =>
          JSON.stringify({ ...credential, response: { ...credential.response, [name]: value } })
        )
    ),
  // CBOR that nests, promises more than there is, or names a key twice.
  ...[
    Buffer.alloc(60_000, 0x81),
    Buffer.from("a363666d74646e6f6e656761747453746d74a06861757468446174615affffffff", "hex"),
    Buffer.from("bf63666d74", "hex"),
    Buffer.from("a363666d74646e6f6e6563666d74646e6f6e656761747453746d74a0", "hex"),
    cbor(
      new Map<string, string | Buffer | CborMap>([["fmt", "none"], ["attStmt", new Map()], [
        "authData",
        Buffer.alloc(36),
      ]]),
    ),
    cbor(
      new Map<string, string | Buffer | CborMap>([
        ["fmt", "none"],
        ["attStmt", new Map()],
        [
          "authData",
          Buffer.concat([
            Buffer.alloc(32),
            Buffer.from([0xc5]),
            Buffer.alloc(20),
            Buffer.alloc(50_000, 0x81),
          ]),
        ],
      ]),
    ),
  ].map((bytes) => (credential: CredentialJson) => {
    const response = { ...credential.response, attestationObject: bytes.toString("base64url") };
    return JSON.stringify({ ...credential, response });
  }),
];

Deno.test("passkeys: a malformed credential is a refusal, never a server error, and leaves nothing behind", async () => {
  const scene = await setUp();
  const { client, device, tables, lines } = scene;
  let sent = 0;
  for (const malform of MALFORMED) {
    for (const action of ["authenticate", "register", "delete", ""]) {
      const { options } = await client.options(
        action === "register" ? { action, email: "grace@example.com" } : {},
      );
      const credential = action === "register"
        ? new SoftwareAuthenticator(ORIGIN).create(options)
        : device.get(options);
      const data = malform(credential);
      const answer = await client.post("/auth/callback/passkey", { action, data });
      sent++;
      if (answer.headers.location === ORIGIN) {
        // What only the other ceremony looks at.
        assertEquals(await client.user().then((user) => user?.email !== undefined), true);
        await client.signOut();
        if (action === "register") {
          const last = [...tables.authenticators.values()].at(-1)!;
          tables.authenticators.delete(last.credentialID);
          tables.accounts.splice(1);
          tables.users.delete(last.userId);
        }
        continue;
      }
      assertEquals(
        [answer.statusCode, answer.headers.location],
        [302, REFUSED],
        `${action}: ${data.slice(0, 300)}`,
      );
      assertEquals(await client.user(), null);
    }
  }
  assert(sent > 250);
  assertEquals(lines.filter(({ level }) => level > 40), []);
  assertEquals([tables.users.size, tables.accounts.length, tables.authenticators.size], [1, 1, 1]);
  for (const { transports } of tables.authenticators.values()) assertEquals(transports, "internal,hybrid");
});

Deno.test("passkeys: where the redirect callback throws for the page of the signIn callback, it is the error page", async () => {
  let decide: unknown = true;
  const redirect = ({ url }: { url: string }) => {
    if (url === "/banned") throw new Error("no such place");
    return url;
  };
  const scene = await setUp({ callbacks: { signIn: () => decide as boolean, redirect } });
  const { client, device } = scene;
  decide = "/banned";
  const answer = await client.authenticate(device);
  assertEquals(answer.headers.location, `${ORIGIN}/auth/error?error=Configuration`);
  assertEquals(await client.user(), null);
});

Deno.test("passkeys: bodies that are no form of texts are refused before core sees them", async () => {
  const { client, device, lines } = await setUp();
  const { options } = await client.options();
  const credential = device.get(options);
  for (
    const json of [
      { action: "authenticate", data: credential },
      { action: ["authenticate"], data: JSON.stringify(credential) },
      [credential],
    ]
  ) {
    const answer = await client.request("POST", "/auth/callback/passkey", { json });
    assertEquals([answer.statusCode, answer.json().code], [400, "FST_AUTHJS_BODY_INVALID"]);
  }
  const form = { action: "authenticate", data: "x".repeat(110_000) };
  assertEquals((await client.request("POST", "/auth/callback/passkey", { form })).statusCode, 413);
  assertEquals(lines.filter(({ level }) => level > 40), []);
});
