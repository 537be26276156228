import { randomInt } from "node:crypto";
import type { Contract } from "#test/contract.ts";
import { inProject, READ, WRITE } from "#test/matrix/line.ts";
import { insert, word } from "#test/matrix/rows.ts";

const ISSUE = { child: "issue" } as const;
const READ_ONLY = { answers: { archived: 403, "archived above": 403 } } as const;

export const contract: Contract = {
  lines: {
    "GET /projects/:id/issues/:issue_iid": inProject("viewer", 200, READ, ISSUE),
    "POST /projects/:id/issues": inProject("viewer", 201, WRITE, {
      signedIn: true,
      unaudited: true,
      send: "title=*",
      ...READ_ONLY,
    }),
  },
  tables: ["issues", "issue_assignees", "issue_counters"],
  differing: ["iid"],
  fixtures: {
    issue: {
      parents: ["project"],
      async make({ db }, parents) {
        const rows = parents.map(({ id, acting }) => ({
          ...{ project_id: id, author_id: acting ?? null, iid: randomInt(1, 2 ** 30), title: word() },
          ...{ state: "opened", issue_type: "issue", confidential: false },
          ...{ created_at: new Date().toISOString(), updated_at: new Date().toISOString() },
        }));
        await insert(db, "issues", rows);
        return rows.map(({ iid }) => iid);
      },
    },
  },
};
