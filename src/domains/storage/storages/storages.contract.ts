import type { Contract } from "#test/contract.ts";
import { line, READ } from "#test/matrix/line.ts";

export const contract: Contract = {
  lines: {
    "GET /admin/storages": line(401, 403, 200, READ),
  },
};
