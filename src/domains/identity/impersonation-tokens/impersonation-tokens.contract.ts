import type { Contract } from "#test/contract.ts";
import { FOUND, GONE, line, MADE, NEW_TOKEN, READ, WRITE } from "#test/matrix/line.ts";
import { insertForIds, token } from "#test/matrix/rows.ts";

export const contract: Contract = {
  lines: {
    "GET /users/:user_id/impersonation_tokens": line(401, 403, FOUND, READ, { object: "user" }),
    "GET /users/:user_id/impersonation_tokens/:impersonation_token_id": line(401, 403, FOUND, READ, {
      object: "user",
      has: "impersonation token",
    }),
    "POST /users/:user_id/impersonation_tokens": line(401, 403, MADE, WRITE, { object: "user", send: NEW_TOKEN }),
    "DELETE /users/:user_id/impersonation_tokens/:impersonation_token_id": line(401, 403, GONE, WRITE, {
      object: "user",
      has: "impersonation token",
    }),
  },
  fixtures: {
    "impersonation token": {
      parents: ["user"],
      make: ({ db }, parents) =>
        insertForIds(
          db,
          "personal_access_tokens",
          parents.map(({ id }) => token(id, { impersonation: true })),
          "name",
        ),
    },
  },
};
