import type { Contract } from "#test/contract.ts";
import { line, MADE, WRITE } from "#test/matrix/line.ts";

export const contract: Contract = {
  lines: {
    "POST /users/:id/invitation": line(401, 403, MADE, WRITE, { object: "user" }),
  },
  unrepeatable: { "POST /users/:id/invitation": "the second link ends the first" },
};
