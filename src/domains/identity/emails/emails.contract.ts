import type { Contract } from "#test/contract.ts";
import { FOUND, GONE, line, MADE, ONLY_OWN, OWN_GONE, READ_USER, WRITE } from "#test/matrix/line.ts";
import { insertForIds, KNOWN_PREFIX, word } from "#test/matrix/rows.ts";

const NEW_EMAIL = "email=*@example.com";

export const contract: Contract = {
  lines: {
    "GET /users/:id/emails": line(401, 403, FOUND, READ_USER, { object: "user" }),
    "GET /users/:id/emails/:email_id": line(401, 403, FOUND, READ_USER, { object: "user", has: "email" }),
    "POST /users/:id/emails": line(401, 403, MADE, WRITE, { object: "user", send: NEW_EMAIL, resetsAccounts: true }),
    "DELETE /users/:id/emails/:email_id": line(401, 403, GONE, WRITE, { object: "user", has: "email" }),
    "GET /user/emails": line(401, 200, 200, READ_USER),
    "GET /user/emails/:email_id": line(401, ONLY_OWN, ONLY_OWN, READ_USER, { object: "email" }),
    "POST /user/emails": line(401, 201, 201, WRITE, { send: NEW_EMAIL, resetsAccounts: true }),
    "DELETE /user/emails/:email_id": line(401, OWN_GONE, OWN_GONE, WRITE, { object: "email" }),
  },
  tables: ["emails"],
  fixtures: {
    email: {
      parents: ["user"],
      make: ({ db }, parents) =>
        insertForIds(
          db,
          "emails",
          parents.map(({ id, name }) => ({ user_id: id, email: `${name}-${word()}@example.com` })),
          "email",
        ),
    },
  },
  resetAccounts: [`delete from emails where email not like '${KNOWN_PREFIX}%'`],
};
