import type { Contract } from "#test/contract.ts";
import { FOUND, GONE, line, READ, WRITE } from "#test/matrix/line.ts";
import { insert, word } from "#test/matrix/rows.ts";

export const contract: Contract = {
  lines: {
    "GET /users/:id/custom_attributes": line(401, 403, FOUND, READ, { object: "user" }),
    "GET /users/:id/custom_attributes/:key": line(401, 403, FOUND, READ, { object: "user", has: "custom attribute" }),
    "PUT /users/:id/custom_attributes/:key": line(401, 403, FOUND, WRITE, { object: "user", send: "key=*&value=x" }),
    "DELETE /users/:id/custom_attributes/:key": line(401, 403, GONE, WRITE, {
      object: "user",
      has: "custom attribute",
    }),
  },
  tables: ["user_custom_attributes"],
  fixtures: {
    "custom attribute": {
      parents: ["user"],
      async make({ db }, parents) {
        const rows = parents.map(({ id }) => ({ user_id: id, key: word(), value: "x" }));
        await insert(db, "user_custom_attributes", rows);
        return rows.map(({ key }) => key);
      },
    },
  },
};
