import type { Contract } from "#test/contract.ts";
import { inGroup, line, READ } from "#test/matrix/line.ts";

export const contract: Contract = {
  lines: {
    "GET /namespaces": inGroup("viewer", 200, READ, { foundBy: "members", signedIn: true }),
    "GET /namespaces/:id": inGroup("viewer", 200, READ, { signedIn: true }),
    "GET /namespaces/:id/exists": line(401, 200, 200, READ, { send: "id=*" }),
  },
  tables: ["namespaces", "routes"],
  differing: [
    "path",
    "name",
    "traversal_ids",
    "subtree_end",
    "description",
    "marked_for_deletion_at",
    "removal_began_at",
    "last_activity_at",
  ],
};
