/** Somebody who has an account at the demo's OpenID Provider. */
export interface Person {
  readonly login: string;
  readonly password: string;
  readonly name: string;
  readonly email: string;
}

/** Everybody the demo's OpenID Provider knows. The sign-in page says so too: there is nothing to protect here. */
export const PEOPLE: readonly Person[] = [
  { login: "grace", password: "hopper", name: "Grace Hopper", email: "grace@example.com" },
  { login: "alan", password: "turing", name: "Alan Turing", email: "alan@example.com" },
];

export function findPerson(login: string): Person | undefined {
  return PEOPLE.find((person) => person.login === login);
}
