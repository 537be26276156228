import type { Contract } from "#test/contract.ts";
import { line, READ_USER, WRITE } from "#test/matrix/line.ts";

export const contract: Contract = {
  lines: {
    "GET /user": line(401, 200, 200, READ_USER, { adminsSee: "is_admin" }),
    "GET /user/preferences": line(401, 200, 200, READ_USER),
    "PUT /user/preferences": line(401, 200, 200, WRITE, { send: "view_diffs_file_by_file=true", resetsAccounts: true }),
    "PUT /user/avatar": line(401, 200, 200, WRITE, { send: "avatar=" }),
  },
  resetAccounts: ["update users set view_diffs_file_by_file = false where view_diffs_file_by_file"],
};
