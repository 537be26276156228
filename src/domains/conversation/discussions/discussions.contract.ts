import { randomInt } from "node:crypto";
import { sql } from "kysely";
import type { Contract, FixtureContext, Name, Parent } from "#test/contract.ts";
import { inGroup, inProject, READ, WRITE } from "#test/matrix/line.ts";
import { FIRST, list } from "#test/plans/request.ts";
import { insert, insertForIds, type Row, word } from "#test/matrix/rows.ts";

const SIGNED_IN = { signedIn: true, answers: { archived: 403, "archived above": 403 } } as const;
const COMMENT = { ...SIGNED_IN, unaudited: "by oneself", send: "body=*" } as const;
const INNER = { inner: true } as const;

type Kind = "issues" | "epics";
const COLUMNS = { issues: "issue_id", epics: "epic_id" } as const;
const rowOf = (kind: Kind, id: number): Row =>
  kind === "issues"
    ? { project_id: id, issue_type: "issue" }
    : { group_id: id, color: "#1068bf", start_date_is_fixed: false, due_date_is_fixed: false };

/** As many as a list needs to be paged. */
const FEW = [1, 2, 3, 4, 5];

/** Creates an item with several discussions for each parent; returns the names of the item, a discussion and its note. */
async function discussed(
  kind: Kind,
  { db }: FixtureContext,
  parents: readonly Parent[],
): Promise<[Name, Name, Name][]> {
  const now = new Date().toISOString();
  const rows = parents.map(({ id }) => ({
    ...{ ...rowOf(kind, id), iid: randomInt(2, 2 ** 30), title: word(), state: "opened", confidential: false },
    ...{ created_at: now, updated_at: now },
  }));
  const ids = await insertForIds(db, kind, rows, "title");
  const column = COLUMNS[kind];
  const made = await insert(
    db,
    "notes",
    parents.flatMap(({ acting }, index) =>
      FEW.map(() => ({
        ...{ [column]: ids[index], author_id: acting ?? null, body: word() },
        ...{ system: false, internal: false, created_at: now, updated_at: now },
      })),
    ),
  );
  const noteIds = made.map(({ id }) => id as number);
  await sql`update notes set discussion_id = id where id = any(${noteIds}::bigint[])`.execute(db);
  const noteOf = new Map(made.map((note) => [note[column], note["id"] as number]));
  return ids.map((id, index) => {
    const note = noteOf.get(id) ?? 0;
    return [kind === "issues" ? (rows[index]?.iid ?? 0) : id, note.toString(16).padStart(40, "0"), note];
  });
}

const first = async (count: number, made: Promise<[Name, Name, Name][]>) =>
  (await made).map((names) => (count === 1 ? names[0] : names.slice(0, count)));

const ISSUE = "/projects/:id/issues/:issue_iid/discussions";
const EPIC = "/groups/:id/epics/:epic_id/discussions";

export const contract: Contract = {
  lines: {
    [`GET ${ISSUE}`]: inProject("viewer", 200, READ, { child: "discussed issue" }),
    [`GET ${ISSUE}/:discussion_id`]: inProject("viewer", 200, READ, { child: "discussion of an issue" }),
    [`GET ${ISSUE}/:discussion_id/notes/:note_id`]: inProject("viewer", 200, READ, { child: "issue discussion note" }),
    [`POST ${ISSUE}`]: inProject("viewer", 201, WRITE, { ...COMMENT, child: "discussed issue" }),
    [`POST ${ISSUE}/:discussion_id/notes`]: inProject("viewer", 201, WRITE, {
      ...{ ...COMMENT, child: "discussion of an issue" },
    }),
    [`PUT ${ISSUE}/:discussion_id/notes/:note_id`]: inProject("viewer", 200, WRITE, {
      ...{ ...COMMENT, child: "issue discussion note" },
    }),
    [`DELETE ${ISSUE}/:discussion_id/notes/:note_id`]: inProject("viewer", 204, WRITE, {
      ...{ ...SIGNED_IN, child: "issue discussion note" },
    }),
    [`GET ${EPIC}`]: inGroup("viewer", 200, READ, { ...INNER, child: "discussed epic" }),
    [`GET ${EPIC}/:discussion_id`]: inGroup("viewer", 200, READ, { ...INNER, child: "discussion of an epic" }),
    [`GET ${EPIC}/:discussion_id/notes/:note_id`]: inGroup("viewer", 200, READ, {
      ...{ ...INNER, child: "epic discussion note" },
    }),
    [`POST ${EPIC}`]: inGroup("viewer", 201, WRITE, { ...INNER, ...COMMENT, child: "discussed epic" }),
    [`POST ${EPIC}/:discussion_id/notes`]: inGroup("viewer", 201, WRITE, {
      ...{ ...INNER, ...COMMENT, child: "discussion of an epic" },
    }),
    [`PUT ${EPIC}/:discussion_id/notes/:note_id`]: inGroup("viewer", 200, WRITE, {
      ...{ ...INNER, ...COMMENT, child: "epic discussion note" },
    }),
    [`DELETE ${EPIC}/:discussion_id/notes/:note_id`]: inGroup("viewer", 204, WRITE, {
      ...{ ...INNER, ...SIGNED_IN, child: "epic discussion note" },
    }),
  },
  plans: {
    // The issue and the epic with the most notes.
    sample: `select i.project_id as project, i.iid, e.group_id as "group", e.id as epic from issues i, epics e
      where i.id = (select issue_id from notes where issue_id is not null group by 1 order by count(*) desc, 1 limit 1)
        and e.id = (select epic_id from notes where epic_id is not null group by 1 order by count(*) desc, 1 limit 1)`,
    requests: ({ project, iid, group, epic }) => [
      ...list(`/projects/${project}/issues/${iid}/discussions`, { places: FIRST }),
      ...list(`/groups/${group}/epics/${epic}/discussions`, { places: FIRST }),
    ],
    indexes: () => ({}),
  },
  fixtures: {
    "discussed issue": {
      parents: ["project"],
      make: (context, parents) => first(1, discussed("issues", context, parents)),
    },
    "discussion of an issue": {
      parents: ["project"],
      make: (context, parents) => first(2, discussed("issues", context, parents)),
    },
    "issue discussion note": {
      parents: ["project"],
      make: (context, parents) => discussed("issues", context, parents),
    },
    "discussed epic": {
      parents: ["group"],
      make: (context, parents) => first(1, discussed("epics", context, parents)),
    },
    "discussion of an epic": {
      parents: ["group"],
      make: (context, parents) => first(2, discussed("epics", context, parents)),
    },
    "epic discussion note": { parents: ["group"], make: (context, parents) => discussed("epics", context, parents) },
  },
};
