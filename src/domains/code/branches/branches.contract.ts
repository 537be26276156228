import type { Contract } from "#test/contract.ts";
import { changeCode, readCode } from "#test/matrix/line.ts";

export const contract: Contract = {
  lines: {
    "GET /projects/:id/repository/branches": readCode(),
    "GET /projects/:id/repository/branches/:branch": readCode("branch"),
    "POST /projects/:id/repository/branches": changeCode(201, { send: "branch=*&ref=main" }),
    "DELETE /projects/:id/repository/branches/:branch": changeCode(204, { child: "branch" }),
    "DELETE /projects/:id/repository/merged_branches": changeCode(202, {}),
  },
  unrepeatable: { "DELETE /projects/:id/repository/merged_branches": "a job deletes the branches" },
};
