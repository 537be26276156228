import { randomInt } from "node:crypto";
import type { Contract, FixtureContext, Parent } from "#test/contract.ts";
import { inGroup, inProject, READ } from "#test/matrix/line.ts";
import { FIRST, list } from "#test/plans/request.ts";
import { insert, insertForIds, word } from "#test/matrix/rows.ts";

const SIGNED_IN = { signedIn: true } as const;
const INNER = { signedIn: true, inner: true } as const;
const ISSUES = {
  items: "issues",
  column: "issue_id",
  container: "project_id",
  others: { issue_type: "issue" },
} as const;
const EPICS = {
  items: "epics",
  column: "epic_id",
  container: "group_id",
  others: { color: "#1068bf", start_date_is_fixed: false, due_date_is_fixed: false },
} as const;

/** Creates an item for each parent with a label that was added and removed several times; returns item and last event. */
async function labelled(
  db: FixtureContext["db"],
  parents: readonly Parent[],
  { items, column, container, others }: typeof ISSUES | typeof EPICS,
): Promise<{ iid: number; id: number; event: number }[]> {
  const now = new Date().toISOString();
  const rows = parents.map(({ id, acting }) => ({
    ...{ [container]: id, iid: randomInt(2, 2 ** 30), title: word(), author_id: acting ?? null },
    ...{ state: "opened", confidential: false, created_at: now, updated_at: now, ...others },
  }));
  const ids = await insertForIds(db, items, rows, "title");
  const labels = await insertForIds(
    db,
    "labels",
    parents.map(({ id }) => ({
      ...{ [container]: id, name: word(), color: "#6699cc", archived: false },
      ...{ created_at: now, updated_at: now },
    })),
    "name",
  );
  await insert(
    db,
    "label_links",
    parents.map((_, index) => ({ [column]: ids[index], label_id: labels[index] })),
  );
  const made = await insert(
    db,
    "label_events",
    parents.flatMap((_, index) =>
      ["add", "remove", "add", "remove", "add"].map((action) => ({
        ...{ [column]: ids[index], label_id: labels[index], user_id: parents[index]?.acting ?? null },
        ...{ action, created_at: now },
      })),
    ),
  );
  const eventOf = new Map(made.map((event) => [event[column], event["id"] as number]));
  return rows.map(({ iid }, index) => ({ iid, id: ids[index] ?? 0, event: eventOf.get(ids[index]) ?? 0 }));
}

export const contract: Contract = {
  lines: {
    "GET /projects/:id/issues/:issue_iid/resource_label_events": inProject("viewer", 200, READ, {
      ...SIGNED_IN,
      child: "labelled issue",
    }),
    "GET /projects/:id/issues/:issue_iid/resource_label_events/:resource_label_event_id": inProject(
      ...(["viewer", 200, READ, { ...SIGNED_IN, child: "issue label event" }] as const),
    ),
    "GET /groups/:id/epics/:epic_id/resource_label_events": inGroup("viewer", 200, READ, {
      ...INNER,
      child: "labelled epic",
    }),
    "GET /groups/:id/epics/:epic_id/resource_label_events/:resource_label_event_id": inGroup(
      ...(["viewer", 200, READ, { ...INNER, child: "epic label event" }] as const),
    ),
  },
  tables: ["label_links", "label_events"],
  plans: {
    // The issue and the epic with the most events.
    sample: `select i.project_id as project, i.iid, e.group_id as "group", e.id as epic from issues i, epics e
      where i.id = (select issue_id from label_events where issue_id is not null group by 1 order by count(*) desc, 1 limit 1)
        and e.id = (select epic_id from label_events where epic_id is not null group by 1 order by count(*) desc, 1 limit 1)`,
    requests: ({ project, iid, group, epic }) => [
      ...list(`/projects/${project}/issues/${iid}/resource_label_events`, { places: FIRST }),
      ...list(`/groups/${group}/epics/${epic}/resource_label_events`, { places: FIRST }),
    ],
    indexes: ({ project, iid, group, epic }) => ({
      label_events_of_issue: `/projects/${project}/issues/${iid}/resource_label_events`,
      label_events_of_epic: `/groups/${group}/epics/${epic}/resource_label_events`,
    }),
  },
  fixtures: {
    "labelled issue": {
      parents: ["project"],
      make: async ({ db }, parents) => (await labelled(db, parents, ISSUES)).map(({ iid }) => iid),
    },
    "issue label event": {
      parents: ["project"],
      make: async ({ db }, parents) => (await labelled(db, parents, ISSUES)).map(({ iid, event }) => [iid, event]),
    },
    "labelled epic": {
      parents: ["group"],
      make: async ({ db }, parents) => (await labelled(db, parents, EPICS)).map(({ id }) => id),
    },
    "epic label event": {
      parents: ["group"],
      make: async ({ db }, parents) => (await labelled(db, parents, EPICS)).map(({ id, event }) => [id, event]),
    },
  },
};
