import type { Contract } from "#test/contract.ts";
import { line, OWN_GONE, READ, WRITE } from "#test/matrix/line.ts";
import { insertForIds, randomDigest, type Row, word } from "#test/matrix/rows.ts";
import { passwordDigest, setPassword } from "#test/support/passwords.ts";
import { beginSession } from "#test/support/sessions.ts";

const PASSWORD = "Seven-Bells-In-The-Fog";

const session = (user_id: number): Row => {
  const [created_at, ends_at] = [Date.now(), Date.now() + 3_600_000].map((time) => new Date(time).toISOString());
  return { user_id, digest: randomDigest(), created_at, last_seen_at: created_at, ends_at, user_agent: word() };
};

export const contract: Contract = {
  lines: {
    "POST /session": line(201, 201, 201, WRITE, { send: "login={login}&password={password}" }),
    "DELETE /session": line(401, 400, 400, WRITE, { session: 204 }),
    "GET /user/sessions": line(401, 200, 200, READ, { robots: 403 }),
    "DELETE /user/sessions/:id": line(401, OWN_GONE, OWN_GONE, WRITE, { object: "session", robots: 403 }),
    "DELETE /user/sessions": line(401, 204, 204, WRITE, { robots: 403 }),
    // The callers have no password, so an allowed request is answered with 400.
    "PUT /user/password": line(401, 400, 400, WRITE, { send: "current_password=*&password=*", robots: 403 }),
  },
  tables: ["sessions", "sign_in_attempts"],
  differing: [
    "digest",
    "ends_at",
    "last_seen_at",
    "current_sign_in_at",
    "last_sign_in_at",
    "password_digest",
    "attempted_at",
  ],
  requests: {
    "POST /session": async ({ db }, { id, username }) => {
      await setPassword(db, id, PASSWORD);
      return { payload: { login: username, password: PASSWORD } };
    },
    "DELETE /session": async ({ db }, { id }) => ({ headers: await beginSession(db, id) }),
    "PUT /user/password": async ({ db }, { id }) => {
      await setPassword(db, id, PASSWORD);
      return { payload: { current_password: PASSWORD, password: `${PASSWORD}-2` } };
    },
  },
  unrepeatable: { "DELETE /user/sessions": "the second time there is none left" },
  fixtures: {
    session: {
      parents: ["user"],
      make: ({ db }, parents) =>
        insertForIds(
          db,
          "sessions",
          parents.map(({ id }) => session(id)),
          "user_agent",
        ),
    },
  },
  values: {
    login: async ({ makeUser }) => (await makeUser({ password_digest: passwordDigest(PASSWORD) })).username,
    password: () => PASSWORD,
  },
};
