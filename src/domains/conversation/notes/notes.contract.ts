import { randomInt } from "node:crypto";
import type { Contract, FixtureContext, Parent } from "#test/contract.ts";
import { inGroup, inProject, READ, WRITE } from "#test/matrix/line.ts";
import { any, FIRST, list } from "#test/plans/request.ts";
import { insert, insertForIds, type Row, word } from "#test/matrix/rows.ts";

const READ_ONLY = { answers: { archived: 403, "archived above": 403 } } as const;
const SIGNED_IN = { signedIn: true, ...READ_ONLY } as const;
const COMMENT = { ...SIGNED_IN, unaudited: "by oneself", send: "body=*" } as const;
const INNER = { inner: true } as const;

interface Kind {
  readonly items: "issues" | "epics";
  readonly column: "issue_id" | "epic_id";
  rowOf(container: number): Row;
}

const ISSUES: Kind = {
  items: "issues",
  column: "issue_id",
  rowOf: (project_id) => ({ project_id, issue_type: "issue" }),
};
const EPICS: Kind = {
  items: "epics",
  column: "epic_id",
  rowOf: (group_id) => ({ group_id, color: "#1068bf", start_date_is_fixed: false, due_date_is_fixed: false }),
};

/** As many as a list needs to be paged. */
const FEW = [1, 2, 3, 4, 5];

/** Creates an item with several notes for each parent, and returns the names of the item and of a note. */
async function noted(
  { items, column, rowOf }: Kind,
  { db, person }: FixtureContext,
  parents: readonly Parent[],
  byOthers = false,
): Promise<[number, number][]> {
  const now = new Date().toISOString();
  const rows = parents.map(({ id }) => ({
    ...{ ...rowOf(id), iid: randomInt(2, 2 ** 30), title: word(), state: "opened", confidential: false },
    ...{ created_at: now, updated_at: now },
  }));
  const ids = await insertForIds(db, items, rows, "title");
  const somebody = await person("who writes notes");
  const made = await insert(
    db,
    "notes",
    parents.flatMap(({ acting }, index) =>
      FEW.map(() => ({
        ...{ [column]: ids[index], author_id: byOthers ? somebody : (acting ?? null), body: word() },
        ...{ system: false, internal: false, created_at: now, updated_at: now },
      })),
    ),
  );
  const noteOf = new Map(made.map((note) => [note[column], note["id"] as number]));
  return ids.map((id, index) => [items === "issues" ? (rows[index]?.iid ?? 0) : id, noteOf.get(id) ?? 0]);
}

const itemsOf = async (made: Promise<[number, number][]>) => (await made).map(([item]) => item);

export const contract: Contract = {
  lines: {
    "GET /projects/:id/issues/:issue_iid/notes": inProject("viewer", 200, READ, { child: "issue with notes" }),
    "GET /projects/:id/issues/:issue_iid/notes/:note_id": inProject("viewer", 200, READ, { child: "note of an issue" }),
    "POST /projects/:id/issues/:issue_iid/notes": [
      inProject("viewer", 201, WRITE, { ...COMMENT, child: "issue with notes" }),
      inProject("viewer", 201, WRITE, {
        ...{ ...COMMENT, child: "issue with notes", requestRole: "planner", send: "body=*&internal=true" },
      }),
    ],
    "PUT /projects/:id/issues/:issue_iid/notes/:note_id": [
      inProject("viewer", 200, WRITE, { ...COMMENT, child: "note of an issue" }),
      {
        ...inProject("viewer", 200, WRITE, { ...SIGNED_IN, send: "body=*", child: "issue note of somebody" }),
        user: 403,
      },
    ],
    "DELETE /projects/:id/issues/:issue_iid/notes/:note_id": [
      inProject("viewer", 204, WRITE, { ...SIGNED_IN, child: "note of an issue" }),
      inProject("viewer", 204, WRITE, { ...SIGNED_IN, child: "issue note of somebody", requestRole: "maintainer" }),
    ],
    "GET /groups/:id/epics/:epic_id/notes": inGroup("viewer", 200, READ, { ...INNER, child: "epic with notes" }),
    "GET /groups/:id/epics/:epic_id/notes/:note_id": inGroup("viewer", 200, READ, {
      ...INNER,
      child: "note of an epic",
    }),
    "POST /groups/:id/epics/:epic_id/notes": inGroup("viewer", 201, WRITE, {
      ...{ ...INNER, ...COMMENT, child: "epic with notes" },
    }),
    "PUT /groups/:id/epics/:epic_id/notes/:note_id": inGroup("viewer", 200, WRITE, {
      ...{ ...INNER, ...COMMENT, child: "note of an epic" },
    }),
    "DELETE /groups/:id/epics/:epic_id/notes/:note_id": [
      inGroup("viewer", 204, WRITE, { ...INNER, ...SIGNED_IN, child: "note of an epic" }),
      inGroup("viewer", 204, WRITE, {
        ...{ ...INNER, ...SIGNED_IN, child: "epic note of somebody", requestRole: "maintainer" },
      }),
    ],
  },
  tables: ["notes"],
  differing: ["body"],
  plans: {
    // The issue and the epic with the most notes.
    sample: `select i.project_id as project, i.iid, e.group_id as "group", e.id as epic from issues i, epics e
      where i.id = (select issue_id from notes where issue_id is not null group by 1 order by count(*) desc, 1 limit 1)
        and e.id = (select epic_id from notes where epic_id is not null group by 1 order by count(*) desc, 1 limit 1)`,
    requests: ({ project, iid, group, epic }) => [
      ...list(`/projects/${project}/issues/${iid}`, { places: FIRST }),
      ...[`/projects/${project}/issues/${iid}/notes`, `/groups/${group}/epics/${epic}/notes`].flatMap((path) =>
        list(path, {
          filters: ["", "activity_filter=only_comments", any("activity_filter=only_activity")],
          orders: ["", "order_by=updated_at&sort=asc"],
          places: [...FIRST, "pagination=keyset&per_page=100"],
        }),
      ),
    ],
    indexes: ({ project, iid, group, epic }) => ({
      notes_of_issue_by_created_at: `/projects/${project}/issues/${iid}/notes`,
      notes_of_epic_by_created_at: `/groups/${group}/epics/${epic}/notes`,
      notes_comments_of_issue: `/projects/${project}/issues/${iid}`,
    }),
  },
  fixtures: {
    "issue with notes": { parents: ["project"], make: (context, parents) => itemsOf(noted(ISSUES, context, parents)) },
    "note of an issue": { parents: ["project"], make: (context, parents) => noted(ISSUES, context, parents) },
    "issue note of somebody": {
      parents: ["project"],
      make: (context, parents) => noted(ISSUES, context, parents, true),
    },
    "epic with notes": { parents: ["group"], make: (context, parents) => itemsOf(noted(EPICS, context, parents)) },
    "note of an epic": { parents: ["group"], make: (context, parents) => noted(EPICS, context, parents) },
    "epic note of somebody": { parents: ["group"], make: (context, parents) => noted(EPICS, context, parents, true) },
  },
};
