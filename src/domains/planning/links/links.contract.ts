import { randomInt } from "node:crypto";
import { sql } from "kysely";
import type { Contract, FixtureContext, Parent } from "#test/contract.ts";
import { inGroup, inProject, READ, WRITE } from "#test/matrix/line.ts";
import { any, BY_OFFSET, FIRST, list, unskippable } from "#test/plans/request.ts";
import { insert, insertForId, insertForIds, project, type Row, word } from "#test/matrix/rows.ts";

const READ_ONLY = { answers: { archived: 403, "archived above": 403 } } as const;
const LINK = { child: "issue link", signedIn: true } as const;
const LINKED = { child: "linked issue", signedIn: true } as const;

/** The items that one is linked to, enough to notice a statement for each. */
const OTHERS = [1, 2, 3, 4, 5];
const SIZE = 1 + OTHERS.length;

/** Items in the path have no author, so that the right to link them comes from a role. */
const item = (columns: Row): Row => ({
  ...{ iid: randomInt(2, 2 ** 30), title: word(), author_id: null, state: "opened", confidential: false },
  ...{ created_at: new Date().toISOString(), updated_at: new Date().toISOString() },
  ...columns,
});
const issueOf = (project_id: number, columns: Row = {}) => item({ project_id, issue_type: "issue", ...columns });
const epicOf = (group_id: number, columns: Row = {}) =>
  item({ group_id, color: "#1068bf", start_date_is_fixed: false, due_date_is_fixed: false, ...columns });

interface Kind {
  readonly items: "issues" | "epics";
  readonly links: "issue_links" | "epic_links";
  rowOf(container: number, columns?: Row): Row;
  /** A public project or group. */
  elsewhere(context: FixtureContext): Promise<number>;
}

const ISSUES: Kind = {
  items: "issues",
  links: "issue_links",
  rowOf: issueOf,
  elsewhere: ({ db, group, once }) =>
    once("project of linked issues", async () =>
      insertForId(db, "projects", project(await group("linked issues"), { visibility: "public" })),
    ),
};
const EPICS: Kind = {
  items: "epics",
  links: "epic_links",
  rowOf: epicOf,
  elsewhere: ({ group: make }) => make("linked epics"),
};

/**
 * Creates an item for each parent, and five others that it blocks: public ones that the acting user may link, so that
 * nothing but the item in the path decides. Returns its number and the id of a link.
 */
async function linked(kind: Kind, context: FixtureContext, parents: readonly Parent[]): Promise<[number, number][]> {
  const { db } = context;
  const open = await kind.elsewhere(context);
  const rows = parents.flatMap(({ id, acting }) => [
    kind.rowOf(id),
    ...OTHERS.map(() => kind.rowOf(open, { author_id: acting ?? null })),
  ]);
  if (kind === EPICS) await makeGuests(db, open, parents);
  const ids = await insertForIds(db, kind.items, rows, "title");
  const created_at = new Date().toISOString();
  const made = await insert(
    db,
    kind.links,
    parents.flatMap((_, index) =>
      OTHERS.map((other) => ({
        ...{ source_id: ids[SIZE * index], target_id: ids[SIZE * index + other], link_type: "blocks" },
        ...{ created_at, updated_at: created_at },
      })),
    ),
  );
  const linkOf = new Map(made.map((link) => [link["source_id"], link["id"] as number]));
  return parents.map((_, index) => [rows[SIZE * index]?.["iid"] as number, linkOf.get(ids[SIZE * index]) ?? 0]);
}

/** Epics have no assignees: the right to link one is a role in its group. */
async function makeGuests(db: FixtureContext["db"], group: number, parents: readonly Parent[]) {
  const users = [...new Set(parents.flatMap(({ acting }) => acting ?? []))];
  await sql`insert into members (group_id, user_id, access_level)
    select ${group}, unnest(${users}::bigint[]), 10 on conflict do nothing`.execute(db);
}

const numbers = async (made: Promise<[number, number][]>) => (await made).map(([iid]) => iid);

/** Creates an item for each parent, and the one that a request links it to, which has the number 1. */
async function linkable({ items, rowOf }: Kind, { db }: FixtureContext, parents: readonly Parent[]): Promise<number[]> {
  const column = sql.ref(items === "issues" ? "project_id" : "group_id");
  const containers = [...new Set(parents.map(({ id }) => id))];
  const { rows: known } = await sql<{ id: number }>`
    select ${column} as id from ${sql.table(items)} where iid = 1 and ${column} = any(${containers}::bigint[])`.execute(
    db,
  );
  const has = new Set(known.map(({ id }) => id));
  const targets = containers.filter((id) => !has.has(id)).map((id) => rowOf(id, { iid: 1 }));
  const rows = parents.map(({ id }) => rowOf(id));
  await insert(db, items, [...targets, ...rows]);
  const counters = sql.table(items === "issues" ? "issue_counters" : "epic_counters");
  await sql`insert into ${counters} (${column}, last_iid) select unnest(${containers}::bigint[]), 1
    on conflict do nothing`.execute(db);
  return rows.map((row) => row["iid"] as number);
}

export const contract: Contract = {
  lines: {
    "GET /projects/:id/issues/:issue_iid/links": inProject("viewer", 200, READ, LINKED),
    "GET /projects/:id/issues/:issue_iid/links/graph": inProject("viewer", 200, READ, LINKED),
    "GET /projects/:id/issues/:issue_iid/links/:issue_link_id": inProject("viewer", 200, READ, LINK),
    "POST /projects/:id/issues/:issue_iid/links": inProject("viewer", 201, WRITE, {
      ...READ_ONLY,
      ...{ child: "linkable issue", signedIn: true, requestRole: "planner" },
      send: "target_project_id=&target_issue_iid=1",
    }),
    "DELETE /projects/:id/issues/:issue_iid/links/:issue_link_id": inProject("viewer", 200, WRITE, {
      ...{ ...READ_ONLY, ...LINK },
      requestRole: "planner",
    }),
    "GET /groups/:id/related_epic_links": inGroup("viewer", 200, READ, { holds: "single epic link", inner: true }),
    "GET /groups/:id/epics/:epic_iid/related_epics": inGroup("viewer", 200, READ, {
      child: "linked epic",
      inner: true,
    }),
    "POST /groups/:id/epics/:epic_iid/related_epics": inGroup("guest", 201, WRITE, {
      ...READ_ONLY,
      child: "linkable epic",
      send: "target_group_id=&target_epic_iid=1",
    }),
    "DELETE /groups/:id/epics/:epic_iid/related_epics/:related_epic_link_id": inGroup("guest", 200, WRITE, {
      ...{ ...READ_ONLY, child: "epic link" },
    }),
  },
  tables: ["issue_links", "epic_links"],
  plans: {
    // The issue and the epic with the most links, and the largest group.
    sample: `select i.project_id as project, i.iid, e.group_id as "epicGroup", e.iid as epic,
        (select min(id) from namespaces where path = 'harbour-works' and parent_id is null) as "group"
      from issues i, epics e
      where i.id = (select source_id from issue_links group by 1 order by count(*) desc, 1 limit 1)
        and e.id = (select source_id from epic_links group by 1 order by count(*) desc, 1 limit 1)`,
    requests: ({ project, iid, epicGroup, epic, group }) => [
      ...list(`/projects/${project}/issues/${iid}/links`, { places: FIRST }),
      ...list(`/projects/${project}/issues/${iid}/links/graph?depth=5`, { places: FIRST }),
      ...list(`/groups/${epicGroup}/epics/${epic}/related_epics`, { places: FIRST }),
      ...list(`/groups/${group}/related_epic_links`, {
        callers: ["administrator", "member of the largest"],
        filters: [
          unskippable(""),
          any("created_after=2021-02-01T00:00:00Z"),
          any("updated_before=2021-01-02T00:00:00Z"),
        ],
        places: BY_OFFSET,
      }),
    ],
    // The tables of the usual seed are too small for a missing index to show.
    indexes: () => ({}),
  },
  fixtures: {
    "issue link": { parents: ["project"], make: (context, parents) => linked(ISSUES, context, parents) },
    "linked issue": { parents: ["project"], make: (context, parents) => numbers(linked(ISSUES, context, parents)) },
    "linkable issue": { parents: ["project"], make: (context, parents) => linkable(ISSUES, context, parents) },
    "epic link": { parents: ["group"], make: (context, parents) => linked(EPICS, context, parents) },
    "linked epic": { parents: ["group"], make: (context, parents) => numbers(linked(EPICS, context, parents)) },
    "linkable epic": { parents: ["group"], make: (context, parents) => linkable(EPICS, context, parents) },
    "single epic link": {
      parents: ["group"],
      async make({ db }, parents) {
        const rows = parents.flatMap(({ id }) => [epicOf(id), epicOf(id)]);
        const ids = await insertForIds(db, "epics", rows, "title");
        const created_at = new Date().toISOString();
        const links = parents.map((_, index) => ({
          ...{ source_id: ids[2 * index], target_id: ids[2 * index + 1], link_type: "relates_to" },
          ...{ created_at, updated_at: created_at },
        }));
        return insertForIds(db, "epic_links", links, "source_id");
      },
    },
  },
};
