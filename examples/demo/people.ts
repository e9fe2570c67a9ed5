/** A user of the demo's OpenID Provider. */
export interface Person {
  readonly login: string;
  readonly password: string;
  readonly name: string;
  readonly email: string;
}

/** All users of the demo's OpenID Provider. The sign-in page shows their passwords: there is nothing to protect. */
export const PEOPLE: readonly Person[] = [
  { login: "grace", password: "hopper", name: "Grace Hopper", email: "grace@example.com" },
  { login: "alan", password: "turing", name: "Alan Turing", email: "alan@example.com" },
];

export function findPerson(login: string): Person | undefined {
  return PEOPLE.find((person) => person.login === login);
}
