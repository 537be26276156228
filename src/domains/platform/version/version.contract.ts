import type { Contract } from "#test/contract.ts";
import { line, READ_USER } from "#test/matrix/line.ts";

export const contract: Contract = {
  lines: {
    "GET /version": line(401, 200, 200, READ_USER),
    "GET /metadata": line(401, 200, 200, READ_USER),
  },
};
