//? database|settings
import process from "node:process";

/** A variable of the environment that has to be set. */
export function setting(name: string): string {
  const value = process.env[name];
  if (value) return value;
  throw new Error(`${name} is not set: .env.example says what it is`);
}
//? end
