import type { Contract } from "#test/contract.ts";
import { changeCode, COMMIT, inProject, READ_CODE, readCode } from "#test/matrix/line.ts";

export const contract: Contract = {
  lines: {
    "GET /projects/:id/repository/commits": readCode(),
    "GET /projects/:id/repository/commits/:sha": readCode("commit"),
    "GET /projects/:id/repository/commits/:sha/diff": readCode("commit"),
    "GET /projects/:id/repository/commits/:sha/refs": readCode("commit"),
    "GET /projects/:id/repository/commits/:sha/sequence": readCode("commit"),
    // Nothing is signed.
    "GET /projects/:id/repository/commits/:sha/signature": inProject("viewer", 404, READ_CODE, {
      ...{ code: "read", child: "commit" },
    }),
    "POST /projects/:id/repository/commits": changeCode(201, {
      send: `${COMMIT}&actions[][action]=create&actions[][file_path]=*&actions[][content]=x`,
    }),
    "POST /projects/:id/repository/commits/:sha/cherry_pick": changeCode(201, { child: "commit", send: "branch=here" }),
    "POST /projects/:id/repository/commits/:sha/revert": changeCode(201, { child: "commit", send: "branch=main" }),
  },
};
