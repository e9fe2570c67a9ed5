/**
 * What a `session` callback is given of a session in a database, so that it sends no more than it names.
 *
 * Core gives it the rows: `({ session }) => session`, or a callback that spreads the session, would send the
 * session token and every column of the user to the browser, such as the hash of a password.
 */
import type { AuthConfig } from "@auth/core";

type Callbacks = NonNullable<AuthConfig["callbacks"]>;

/** What is sent of a session and of its user, unless the callback adds to it. */
const SESSION_FIELDS = ["user", "expires"];
const USER_FIELDS = ["id", "name", "email", "image"];

/** The callbacks, of which `session` is given rows whose other columns can be read, and are not sent. */
export function hideColumns(callbacks: Callbacks): Callbacks {
  const { session: own } = callbacks;
  if (own === undefined) return callbacks;
  return {
    ...callbacks,
    session(params) {
      const { session } = params as { session: { user: object } };
      const user = withFields(session.user, USER_FIELDS);
      return own({ ...params, session: withFields({ ...session, user }, SESSION_FIELDS) } as typeof params);
    },
  };
}

/** A copy of a row. What is no field of it stands on its prototype: assigned to the copy, it becomes one. */
function withFields(row: object | null, fields: readonly string[]): object | null {
  if (row === null) return null;
  const columns = Object.create(Object.getPrototypeOf(row));
  for (const name of Reflect.ownKeys(row)) define(columns, name, Reflect.get(row, name), false);
  // JSON would ask the row what it is.
  if ("toJSON" in columns) define(columns, "toJSON", undefined, false);
  const shown = Object.create(columns);
  for (const name of fields) {
    if (name in row) define(shown, name, Reflect.get(row, name), true);
  }
  return shown;
}

function define(target: object, name: PropertyKey, value: unknown, enumerable: boolean): void {
  Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable });
}
