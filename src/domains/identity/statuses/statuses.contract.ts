import type { Contract } from "#test/contract.ts";
import { FOUND, line, READ_USER, WRITE } from "#test/matrix/line.ts";

export const contract: Contract = {
  lines: {
    "GET /users/:id_or_username/status": line(FOUND, FOUND, FOUND, READ_USER, { object: "user" }),
    "GET /user/status": line(401, 200, 200, READ_USER),
    "PUT /user/status": line(401, 200, 200, WRITE, { send: "message=*", resetsAccounts: true }),
    "PATCH /user/status": line(401, 200, 200, WRITE, { send: "message=*", resetsAccounts: true }),
  },
  tables: ["user_statuses"],
  differing: ["message"],
  resetAccounts: ["delete from user_statuses"],
};
