import type { Contract } from "#test/contract.ts";
import { changeCode, COMMIT, readCode } from "#test/matrix/line.ts";

export const contract: Contract = {
  lines: {
    "GET /projects/:id/repository/files/:file_path": readCode("file"),
    "GET /projects/:id/repository/files/:file_path/raw": readCode("file"),
    "GET /projects/:id/repository/files/:file_path/blame": readCode("file"),
    "POST /projects/:id/repository/files/:file_path": changeCode(201, { send: `file_path=*&${COMMIT}&content=x` }),
    "PUT /projects/:id/repository/files/:file_path": changeCode(200, {
      ...{ child: "file", missingStatus: 400, send: `${COMMIT}&content=x` },
    }),
    "DELETE /projects/:id/repository/files/:file_path": changeCode(204, {
      child: "file",
      missingStatus: 400,
      send: COMMIT,
    }),
  },
};
