import { randomInt } from "node:crypto";
import type { Contract } from "#test/contract.ts";
import { inGroup, READ, WRITE } from "#test/matrix/line.ts";
import { insert, word } from "#test/matrix/rows.ts";

const EPIC = { child: "epic", inner: true } as const;
const READ_ONLY = { answers: { archived: 403, "archived above": 403 } } as const;
const MAX_IID = 2 ** 31;

export const contract: Contract = {
  lines: {
    "GET /groups/:id/epics/:epic_iid": inGroup("viewer", 200, READ, EPIC),
    "POST /groups/:id/epics": inGroup("planner", 201, WRITE, { ...READ_ONLY, send: "title=*", unaudited: true }),
  },
  tables: ["epics", "epic_counters"],
  cascades: ["epic_counters.group_id"],
  differing: ["iid", "title"],
  fixtures: {
    epic: {
      parents: ["group"],
      async make({ db }, parents) {
        const rows = parents.map(({ id, acting }) => ({
          ...{ group_id: id, iid: randomInt(1, MAX_IID), title: word(), author_id: acting ?? null },
          ...{ state: "opened", confidential: false, color: "#1068bf" },
          ...{ start_date_is_fixed: false, due_date_is_fixed: false },
          created_at: new Date().toISOString(),
          updated_at: new Date().toISOString(),
        }));
        await insert(db, "epics", rows);
        return rows.map(({ iid }) => iid);
      },
    },
  },
};
