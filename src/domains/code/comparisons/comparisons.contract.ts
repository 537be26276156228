import type { Contract } from "#test/contract.ts";
import { readCode } from "#test/matrix/line.ts";

export const contract: Contract = {
  lines: {
    "GET /projects/:id/repository/compare": readCode(undefined, { send: "from=here&to=main" }),
    "GET /projects/:id/repository/merge_base": readCode(undefined, { send: "refs[]=here&refs[]=main" }),
    "GET /projects/:id/repository/contributors": readCode(),
  },
};
