import type { Contract } from "#test/contract.ts";
import { readCode } from "#test/matrix/line.ts";

export const contract: Contract = {
  lines: {
    "GET /projects/:id/repository/tree": readCode(),
    "GET /projects/:id/repository/blobs/:sha": readCode("blob"),
    "GET /projects/:id/repository/blobs/:sha/raw": readCode("blob"),
  },
};
