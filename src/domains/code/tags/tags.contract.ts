import type { Contract } from "#test/contract.ts";
import { changeCode, readCode } from "#test/matrix/line.ts";

export const contract: Contract = {
  lines: {
    "GET /projects/:id/repository/tags": readCode(),
    "GET /projects/:id/repository/tags/:tag_name": readCode("tag"),
    "POST /projects/:id/repository/tags": changeCode(201, { send: "tag_name=*&ref=main" }),
    "DELETE /projects/:id/repository/tags/:tag_name": changeCode(204, { child: "tag" }),
  },
};
