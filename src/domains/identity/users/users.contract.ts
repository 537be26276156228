import type { Contract } from "#test/contract.ts";
import { FOUND, GONE, line, READ_USER, WRITE } from "#test/matrix/line.ts";
import { insert, word } from "#test/matrix/rows.ts";

const AVATAR = "file=default.svg";
const NEW_USER = "username=*&name=New&email=*@example.com&force_random_password=1";

export const contract: Contract = {
  lines: {
    "GET /users": line(200, 200, 200, READ_USER, { adminsSee: "is_admin" }),
    "GET /users/:id": line(401, FOUND, FOUND, READ_USER, { object: "user", adminsSee: "email" }),
    "POST /users": line(401, 403, 201, WRITE, { send: NEW_USER, entity: "User" }),
    "PUT /users/:id": line(401, 403, FOUND, WRITE, { object: "user", send: "bio=*" }),
    "GET /uploads/-/system/user/avatar/:id/:file": line(FOUND, FOUND, FOUND, READ_USER, {
      object: "user",
      send: AVATAR,
    }),
    "DELETE /users/:id": line(401, 403, [403, 204, 404], WRITE, { object: "newcomer" }),
    "DELETE /users/:id/identities/:provider": line(401, 403, GONE, WRITE, { object: "user", has: "identity" }),
  },
  tables: ["users", "identities"],
  differing: ["username", "email", "bio", "name", "search_text", "confirmed_at"],
  fixtures: {
    identity: {
      parents: ["user"],
      async make({ db }, parents) {
        const rows = parents.map(({ id }) => ({ user_id: id, provider: word(), extern_uid: word() }));
        await insert(db, "identities", rows);
        return rows.map(({ provider }) => provider);
      },
    },
  },
};
