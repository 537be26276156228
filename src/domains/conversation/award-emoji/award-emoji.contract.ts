import { randomInt } from "node:crypto";
import type { Contract, FixtureContext, Name, Parent } from "#test/contract.ts";
import { inGroup, inProject, READ, WRITE } from "#test/matrix/line.ts";
import { any, FIRST, list } from "#test/plans/request.ts";
import { insert, insertForIds, type Row, word } from "#test/matrix/rows.ts";

const SIGNED_IN = {
  signedIn: true,
  unaudited: "by oneself",
  answers: { archived: 403, "archived above": 403 },
} as const;
const GIVE = { ...SIGNED_IN, send: "name=*" } as const;
const INNER = { inner: true } as const;

type Kind = "issues" | "epics";
const COLUMNS = { issues: "issue_id", epics: "epic_id" } as const;
const rowOf = (kind: Kind, id: number): Row =>
  kind === "issues"
    ? { project_id: id, issue_type: "issue" }
    : { group_id: id, color: "#1068bf", start_date_is_fixed: false, due_date_is_fixed: false };

/** As many as a list needs to be paged. */
const FEW = [1, 2, 3, 4, 5];

interface Made {
  readonly iid: number;
  readonly id: number;
  readonly note: number;
  readonly award: number;
}

/** Creates an item with a note for each parent, and several emoji of one of the two. */
async function awarded(kind: Kind, on: "item" | "note", { db, person }: FixtureContext, parents: readonly Parent[]) {
  const times = { created_at: new Date().toISOString(), updated_at: new Date().toISOString() };
  const rows = parents.map(({ id }) => ({
    ...{ ...rowOf(kind, id), iid: randomInt(2, 2 ** 30), title: word(), state: "opened", confidential: false },
    ...times,
  }));
  const ids = await insertForIds(db, kind, rows, "title");
  const somebody = await person("who writes notes");
  const noteRows = ids.map((id) => ({
    ...{ [COLUMNS[kind]]: id, author_id: somebody, body: word(), system: false, internal: false },
    ...times,
  }));
  const notes = await insertForIds(db, "notes", noteRows, "body");
  const things = on === "item" ? ids : notes;
  const column = on === "item" ? COLUMNS[kind] : "note_id";
  const made = await insert(
    db,
    "award_emoji",
    parents.flatMap(({ acting }, index) =>
      FEW.map(() => ({ [column]: things[index], user_id: acting ?? somebody, name: word(), ...times })),
    ),
  );
  const awardOf = new Map(made.map((award) => [award[column], award["id"] as number]));
  return ids.map((id, index): Made => {
    const award = awardOf.get(things[index]) ?? 0;
    return { iid: rows[index]?.iid ?? 0, id, note: notes[index] ?? 0, award };
  });
}

const fixture = (kind: Kind, on: "item" | "note", nameOf: (made: Made) => Name | Name[]) => ({
  parents: [kind === "issues" ? ("project" as const) : ("group" as const)],
  make: async (context: FixtureContext, parents: readonly Parent[]) =>
    (await awarded(kind, on, context, parents)).map(nameOf),
});

const ISSUE = "/projects/:id/issues/:issue_iid/award_emoji";
const ISSUE_NOTE = "/projects/:id/issues/:issue_iid/notes/:note_id/award_emoji";
const EPIC = "/groups/:id/epics/:epic_iid/award_emoji";
const EPIC_NOTE = "/groups/:id/epics/:epic_id/notes/:note_id/award_emoji";

export const contract: Contract = {
  lines: {
    [`GET ${ISSUE}`]: inProject("viewer", 200, READ, { child: "awarded issue" }),
    [`GET ${ISSUE}/:award_id`]: inProject("viewer", 200, READ, { child: "issue award" }),
    [`POST ${ISSUE}`]: inProject("viewer", 201, WRITE, { ...GIVE, child: "awarded issue" }),
    [`DELETE ${ISSUE}/:award_id`]: inProject("viewer", 204, WRITE, { ...SIGNED_IN, child: "issue award" }),
    [`GET ${ISSUE_NOTE}`]: inProject("viewer", 200, READ, { child: "awarded issue note" }),
    [`GET ${ISSUE_NOTE}/:award_id`]: inProject("viewer", 200, READ, { child: "issue note award" }),
    [`POST ${ISSUE_NOTE}`]: inProject("viewer", 201, WRITE, { ...GIVE, child: "awarded issue note" }),
    [`DELETE ${ISSUE_NOTE}/:award_id`]: inProject("viewer", 204, WRITE, { ...SIGNED_IN, child: "issue note award" }),
    [`GET ${EPIC}`]: inGroup("viewer", 200, READ, { ...INNER, child: "awarded epic" }),
    [`GET ${EPIC}/:award_id`]: inGroup("viewer", 200, READ, { ...INNER, child: "epic award" }),
    [`POST ${EPIC}`]: inGroup("viewer", 201, WRITE, { ...INNER, ...GIVE, child: "awarded epic" }),
    [`DELETE ${EPIC}/:award_id`]: inGroup("viewer", 204, WRITE, { ...INNER, ...SIGNED_IN, child: "epic award" }),
    [`GET ${EPIC_NOTE}`]: inGroup("viewer", 200, READ, { ...INNER, child: "awarded epic note" }),
    [`GET ${EPIC_NOTE}/:award_id`]: inGroup("viewer", 200, READ, { ...INNER, child: "epic note award" }),
    [`POST ${EPIC_NOTE}`]: inGroup("viewer", 201, WRITE, { ...INNER, ...GIVE, child: "awarded epic note" }),
    [`DELETE ${EPIC_NOTE}/:award_id`]: inGroup("viewer", 204, WRITE, {
      ...{ ...INNER, ...SIGNED_IN, child: "epic note award" },
    }),
  },
  tables: ["award_emoji"],
  differing: ["name"],
  plans: {
    // An issue and an epic with comments.
    sample: `select i.project_id as project, i.iid, n.id as note, e.group_id as "group", e.iid as epic_iid, e.id as epic,
        m.id as epic_note
      from (select min(id) as id, min(issue_id) as issue_id from notes
          where issue_id = (select min(issue_id) from notes where not system) and not system) n
        join issues i on i.id = n.issue_id
        cross join (select min(id) as id, min(epic_id) as epic_id from notes
          where epic_id = (select min(epic_id) from notes where not system) and not system) m
        join epics e on e.id = m.epic_id`,
    requests: ({ project, iid, note, group, epic_iid, epic, epic_note }) =>
      [
        `/projects/${project}/issues/${iid}/award_emoji`,
        `/projects/${project}/issues/${iid}/notes/${note}/award_emoji`,
        `/groups/${group}/epics/${epic_iid}/award_emoji`,
        `/groups/${group}/epics/${epic}/notes/${epic_note}/award_emoji`,
      ].flatMap((path) => list(path, { filters: [any("")], places: FIRST })),
    indexes: () => ({}),
  },
  fixtures: {
    "awarded issue": fixture("issues", "item", ({ iid }) => iid),
    "issue award": fixture("issues", "item", ({ iid, award }) => [iid, award]),
    "awarded issue note": fixture("issues", "note", ({ iid, note }) => [iid, note]),
    "issue note award": fixture("issues", "note", ({ iid, note, award }) => [iid, note, award]),
    "awarded epic": fixture("epics", "item", ({ iid }) => iid),
    "epic award": fixture("epics", "item", ({ iid, award }) => [iid, award]),
    "awarded epic note": fixture("epics", "note", ({ id, note }) => [id, note]),
    "epic note award": fixture("epics", "note", ({ id, note, award }) => [id, note, award]),
  },
};
