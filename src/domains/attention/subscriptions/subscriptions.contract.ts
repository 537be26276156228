import { randomInt } from "node:crypto";
import type { Contract, FixtureContext, Parent } from "#test/contract.ts";
import { inGroup, inProject, WRITE } from "#test/matrix/line.ts";
import { insert, insertForIds, word } from "#test/matrix/rows.ts";

const OWN = { signedIn: true, unaudited: "by oneself" } as const;
const ISSUE = { ...OWN, child: "issue by somebody" } as const;
const EPIC = { ...OWN, inner: true, child: "epic by somebody" } as const;

/** Inserts an item of nobody for each container, to which the acting user is subscribed or not. */
async function insertItems(
  { db }: FixtureContext,
  parents: readonly Parent[],
  items: "issues" | "epics",
  subscribed: boolean,
) {
  const times = { created_at: new Date().toISOString(), updated_at: new Date().toISOString() };
  const rows = parents.map(({ id }) => ({
    ...{ [items === "issues" ? "project_id" : "group_id"]: id, iid: randomInt(1, 2 ** 30), title: word() },
    ...{ state: "opened", confidential: false, ...times },
    ...(items === "issues" && { issue_type: "issue" }),
  }));
  const ids = await insertForIds(db, items, rows, "title");
  const column = items === "issues" ? "issue_id" : "epic_id";
  const subscriptions = parents.flatMap(({ acting }, index) =>
    acting === undefined ? [] : [{ [column]: ids[index], user_id: acting, subscribed, ...times }],
  );
  if (subscriptions.length > 0) await insert(db, "subscriptions", subscriptions);
  return rows.map(({ iid }) => iid);
}

export const contract: Contract = {
  lines: {
    "POST /projects/:id/issues/:issue_iid/subscribe": inProject("viewer", 201, WRITE, ISSUE),
    "POST /projects/:id/issues/:issue_iid/unsubscribe": inProject("viewer", 201, WRITE, {
      ...ISSUE,
      child: "issue subscribed to",
    }),
    "POST /groups/:id/epics/:epic_iid/subscribe": inGroup("viewer", 201, WRITE, EPIC),
    "POST /groups/:id/epics/:epic_iid/unsubscribe": inGroup("viewer", 201, WRITE, {
      ...EPIC,
      child: "epic subscribed to",
    }),
  },
  tables: ["subscriptions"],
  fixtures: {
    "issue by somebody": {
      parents: ["project"],
      make: (context, parents) => insertItems(context, parents, "issues", false),
    },
    "issue subscribed to": {
      parents: ["project"],
      make: (context, parents) => insertItems(context, parents, "issues", true),
    },
    "epic by somebody": {
      parents: ["group"],
      make: (context, parents) => insertItems(context, parents, "epics", false),
    },
    "epic subscribed to": {
      parents: ["group"],
      make: (context, parents) => insertItems(context, parents, "epics", true),
    },
  },
};
