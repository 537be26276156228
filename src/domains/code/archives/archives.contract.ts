import type { Contract } from "#test/contract.ts";
import { readCode } from "#test/matrix/line.ts";

export const contract: Contract = {
  lines: {
    "GET /projects/:id/repository/archive": readCode(),
    "GET /projects/:id/repository/archive.tar.gz": readCode(),
    "GET /projects/:id/repository/archive.tgz": readCode(),
    "GET /projects/:id/repository/archive.tar": readCode(),
    "GET /projects/:id/repository/archive.zip": readCode(),
  },
};
