/** The names of the two OpenID Providers of the demo. */
export type ProviderName = "Loopback ID" | "Loopback Work";

/** A user of one of them. */
export interface Person {
  readonly at: ProviderName;
  readonly login: string;
  readonly password: string;
  readonly name: string;
  readonly email: string;
}

/** All users of the OpenID Providers. The sign-in page shows their passwords: there is nothing to protect. */
export const PEOPLE: readonly Person[] = [
  { at: "Loopback ID", login: "grace", password: "hopper", name: "Grace Hopper", email: "grace@example.com" },
  { at: "Loopback ID", login: "alan", password: "turing", name: "Alan Turing", email: "alan@example.com" },
  {
    at: "Loopback Work",
    login: "katherine",
    password: "johnson",
    name: "Katherine Johnson",
    email: "katherine@work.example",
  },
];

export function findPerson(login: string, at: ProviderName): Person | undefined {
  return PEOPLE.find((person) => person.login === login && person.at === at);
}
