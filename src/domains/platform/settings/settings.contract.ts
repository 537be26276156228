import type { Contract } from "#test/contract.ts";
import { line, READ, WRITE } from "#test/matrix/line.ts";

export const contract: Contract = {
  lines: {
    "GET /application/settings": line(401, 403, 200, READ),
    "PUT /application/settings": line(401, 403, 200, WRITE, { send: "default_branch_name=main", entity: "Instance" }),
  },
  tables: ["settings"],
};
