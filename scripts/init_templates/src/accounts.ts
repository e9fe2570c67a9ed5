//? credentials
import formbody from "@fastify/formbody";
import type { FastifyInstance } from "fastify";
import type { Auth } from "./auth.ts";
import type { Database } from "./database.ts";
import { problemOf, setPassword } from "./passwords.ts";

/**
 * One page chooses a password: for a new user, whose address a mail has verified;
 * for one who has forgotten it, and signs in by mail; and to change it. It wants a
 * sign-in of the last ten minutes.
 */
export async function addPasswordPage(
  app: FastifyInstance,
  auth: Auth,
  database: Database,
): Promise<void> {
  await app.register(formbody);
  const url = "/account/password";
  const onRequest = auth.requireSession({ maxAge: 10 * 60 });

  app.get(
    url,
    { onRequest },
    (_request, reply) => reply.type("text/html").send(page()),
  );

  // Pages of other sites cannot use it: the session cookie is `SameSite=Lax`
  app.post<{ Body: { password?: unknown } | undefined }>(
    url,
    { onRequest },
    async (request, reply) => {
      const password = String(request.body?.password ?? "");
      const problem = await problemOf(password);
      if (problem) {
        return reply.code(422).type("text/html").send(page(problem));
      }
      const session = await auth.getSession(request);
      const userId = session!.user.id;
      await setPassword(database, userId, password);
      // Whoever knew the old password is signed out
      const [own] = await auth.listSessions(request);
      await auth.revokeSessions(userId, { except: own?.id });
      return reply.redirect("/", 303);
    },
  );
}

function page(problem = ""): string {
  return `<!doctype html>
<html lang="en">
<title>Choose a password</title>
<form method="post">
  <p role="alert">${problem}</p>
  <label>
    New password
    <input name="password" type="password" autocomplete="new-password" required>
  </label>
  <button>Save</button>
</form>
</html>
`;
}
//? end
