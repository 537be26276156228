import { randomInt } from "node:crypto";
import { sql } from "kysely";
import type { Contract, FixtureContext, Name, Parent } from "#test/contract.ts";
import { inGroup, inProject, line, READ, WRITE } from "#test/matrix/line.ts";
import { any, common, FIRST, list, none } from "#test/plans/request.ts";
import { insert, insertForIds, personalProjects, project, type Table, word } from "#test/matrix/rows.ts";

const ONE = "/projects/:id/merge_requests/:merge_request_iid";
const ARCHIVED = { archived: 403, "archived above": 403 } as const;
const READABLE = { fromReporter: true } as const;
const CHILD = { ...READABLE, child: "merge request" } as const;
const SIGNED_IN = { ...CHILD, signedIn: true } as const;
const OWN = { unaudited: "by oneself", answers: ARCHIVED } as const;
const COMMENT = { ...SIGNED_IN, ...OWN, send: "body=*" } as const;
const GIVE = { ...SIGNED_IN, ...OWN, send: "name=*" } as const;
const TAKE = { signedIn: true, ...READABLE, ...OWN } as const;
const TAKE_AUDITED = { signedIn: true, ...READABLE, answers: ARCHIVED } as const;
const TAKE_READ = { signedIn: true, ...READABLE } as const;
const SUBSCRIPTION = { ...READABLE, signedIn: true, unaudited: "by oneself" } as const;

const ORDERS = ["", "order_by=updated_at"];
const filtersFor = (author: number | undefined) => [
  ...["", "state=closed", "labels=Backend,Bug", "labels=None", "not[labels]=Backend", "milestone=None"].map(any),
  ...["assignee_id=None", "assignee_id=Any", "reviewer_id=Any", "draft=true", "source_branch=topic-1"].map(any),
  ...[any(`author_id=${author}`), any(`reviewer_id=${author}`), any("created_before=2021-07-01T00:00:00Z")],
  ...[none("search=nothing"), common("search=anchor"), any("target_branch=main")],
];

const times = () => ({ created_at: new Date().toISOString(), updated_at: new Date().toISOString() });

const rowOf = (project_id: number, author_id: number | null) => ({
  ...{ project_id, author_id, iid: randomInt(2, 2 ** 30), title: word(), state: "opened", squash: false },
  ...{ source_branch: word(), target_branch: "main", ...times() },
});

/** As many as a list needs to be paged. */
const FEW = [1, 2, 3, 4, 5];

interface Made {
  readonly iid: number;
  readonly note: number;
  /** A note that began a discussion. */
  readonly begun: number;
  readonly award: number;
  readonly noteAward: number;
  readonly labelEvent: number;
}

type Columns = Readonly<Record<string, unknown>>;

/** Inserts several rows for each of some things, and returns the id of the last of each. */
async function several(
  { db }: FixtureContext,
  table: Table,
  column: string,
  things: readonly number[],
  of: (at: number) => Columns,
): Promise<number[]> {
  const rows = things.flatMap((id, at) => FEW.map(() => ({ [column]: id, ...of(at) })));
  const made = await insert(db, table, rows);
  const lastOf = new Map(made.map((row) => [row[column], row["id"] as number]));
  return things.map((id) => lastOf.get(id) ?? 0);
}

/** Creates a merge request with several of everything for each parent; the acting user, or somebody else, did it all. */
async function make(context: FixtureContext, parents: readonly Parent[], byOthers: boolean): Promise<Made[]> {
  const { db } = context;
  const somebody = await context.person("who opens merge requests");
  const by = (at: number) => (byOthers ? somebody : (parents[at]?.acting ?? somebody));
  const rows = parents.map(({ id }) => rowOf(id, null));
  const ids = await insertForIds(db, "merge_requests", rows, "title");
  await participating(context, ids);
  const on = (table: Table, of: (at: number) => Columns) => several(context, table, "merge_request_id", ids, of);
  const note = (at: number) => ({ author_id: by(at), body: word(), system: false, internal: false, ...times() });
  const award = (at: number) => ({ user_id: by(at), name: word(), ...times() });
  const notes = await on("notes", note);
  const begun = await on("notes", note);
  await sql`update notes set discussion_id = id where id = any(${begun}::bigint[])`.execute(db);
  const awards = await on("award_emoji", award);
  const noteAwards = await several(context, "award_emoji", "note_id", notes, award);
  const events = await labelled(context, parents, ids, by);
  return rows.map(({ iid }, at) => ({
    ...{ iid, note: notes[at] ?? 0, begun: begun[at] ?? 0, award: awards[at] ?? 0 },
    ...{ noteAward: noteAwards[at] ?? 0, labelEvent: events[at] ?? 0 },
  }));
}

/** As many people as a list of participants needs to be paged. */
async function participating({ db, person }: FixtureContext, ids: readonly number[]) {
  const people = await Promise.all(FEW.map((n) => person(`assignee ${n} of merge requests`)));
  const rows = ids.flatMap((merge_request_id) => people.map((user_id) => ({ merge_request_id, user_id })));
  await insert(db, "merge_request_assignees", rows);
}

/** Opens several merge requests as each user, and returns the users. */
async function writtenBy({ db }: FixtureContext, parents: readonly Parent[]): Promise<number[]> {
  const projects = await personalProjects(db, parents);
  const rows = parents.flatMap(({ id }, at) => FEW.map(() => rowOf(projects[at] ?? 0, id)));
  await insert(db, "merge_requests", rows);
  return parents.map(({ id }) => id);
}

/** Gives a label to each merge request, with several events of which the last is returned. */
async function labelled(
  context: FixtureContext,
  parents: readonly Parent[],
  ids: readonly number[],
  by: (at: number) => number,
) {
  const rows = parents.map(({ id }) => ({
    ...{ project_id: id, name: word(), color: "#6699cc", archived: false },
    ...times(),
  }));
  const labels = await insertForIds(context.db, "labels", rows, "name");
  const links = ids.map((merge_request_id, at) => ({ merge_request_id, label_id: labels[at] }));
  await insert(context.db, "label_links", links);
  const { created_at } = times();
  return several(context, "label_events", "merge_request_id", ids, (at) => ({
    ...{ label_id: labels[at], user_id: by(at), action: "add", created_at },
  }));
}

const fixture = (nameOf: (made: Made) => Name | Name[], byOthers = false) => ({
  parents: ["project" as const],
  make: async (context: FixtureContext, parents: readonly Parent[]) =>
    (await make(context, parents, byOthers)).map(nameOf),
});

const discussionId = ({ begun }: Made) => begun.toString(16).padStart(40, "0");

/** The lines of a resource of notes, whose path ends in the id of one. */
const notesAt = (path: string, all: string, one: string) => ({
  [`POST ${path}`]: inProject("viewer", 201, WRITE, { ...COMMENT, child: all }),
  [`GET ${path}/:note_id`]: inProject("viewer", 200, READ, { ...READABLE, child: one }),
  [`PUT ${path}/:note_id`]: inProject("viewer", 200, WRITE, { ...COMMENT, child: one }),
  [`DELETE ${path}/:note_id`]: inProject("viewer", 204, WRITE, { ...TAKE_AUDITED, child: one }),
});

/** The lines of a resource of emoji. */
const awardsAt = (path: string, all: string, one: string) => ({
  [`GET ${path}`]: inProject("viewer", 200, READ, { ...READABLE, child: all }),
  [`GET ${path}/:award_id`]: inProject("viewer", 200, READ, { ...READABLE, child: one }),
  [`POST ${path}`]: inProject("viewer", 201, WRITE, { ...GIVE, child: all }),
  [`DELETE ${path}/:award_id`]: inProject("viewer", 204, WRITE, { ...TAKE, child: one }),
});

const REQUEST = "source_branch=here&target_branch=main&title=*";

export const contract: Contract = {
  lines: {
    "GET /merge_requests": line(401, 200, 200, READ, { object: "author of merge requests", by: "author_id" }),
    "GET /groups/:id/merge_requests": inGroup("viewer", 200, READ, { holds: "merge request of a project inside" }),
    "GET /projects/:id/merge_requests": inProject("viewer", 200, READ, { ...READABLE, holds: "merge request" }),
    [`GET ${ONE}`]: inProject("viewer", 200, READ, CHILD),
    [`GET ${ONE}/participants`]: inProject("viewer", 200, READ, CHILD),
    "POST /projects/:id/merge_requests": inProject("developer", 201, WRITE, { ...OWN, code: "read", send: REQUEST }),
    [`PUT ${ONE}`]: inProject("viewer", 200, WRITE, {
      ...SIGNED_IN,
      ...OWN,
      requestRole: "developer",
      send: "title=*",
    }),
    [`DELETE ${ONE}`]: inProject("owner", 204, WRITE, { child: "merge request", answers: ARCHIVED }),
    [`POST ${ONE}/subscribe`]: inProject("viewer", 201, WRITE, { ...SUBSCRIPTION, child: "merge request by somebody" }),
    [`POST ${ONE}/unsubscribe`]: inProject("viewer", 201, WRITE, {
      ...{ ...SUBSCRIPTION, child: "merge request subscribed to" },
    }),
    [`POST ${ONE}/todo`]: inProject("viewer", 201, WRITE, { ...SUBSCRIPTION, child: "merge request" }),
    [`GET ${ONE}/notes`]: inProject("viewer", 200, READ, { ...READABLE, child: "discussed merge request" }),
    ...notesAt(`${ONE}/notes`, "discussed merge request", "note of a merge request"),
    [`GET ${ONE}/discussions`]: inProject("viewer", 200, READ, { ...READABLE, child: "discussed merge request" }),
    [`POST ${ONE}/discussions`]: inProject("viewer", 201, WRITE, { ...COMMENT, child: "discussed merge request" }),
    [`GET ${ONE}/discussions/:discussion_id`]: inProject("viewer", 200, READ, {
      ...{ ...READABLE, child: "discussion of a merge request" },
    }),
    ...notesAt(
      `${ONE}/discussions/:discussion_id/notes`,
      "discussion of a merge request",
      "discussion note of a merge request",
    ),
    ...awardsAt(`${ONE}/award_emoji`, "discussed merge request", "merge request award"),
    ...awardsAt(`${ONE}/notes/:note_id/award_emoji`, "note of a merge request", "merge request note award"),
    [`GET ${ONE}/resource_label_events`]: inProject("viewer", 200, READ, {
      ...{ ...TAKE_READ, child: "discussed merge request" },
    }),
    [`GET ${ONE}/resource_label_events/:resource_label_event_id`]: inProject("viewer", 200, READ, {
      ...{ ...TAKE_READ, child: "label event of a merge request" },
    }),
  },
  tables: [...["merge_requests", "merge_request_assignees", "merge_request_reviewers", "merge_request_counters"]],
  differing: ["iid", "closed_at", "source_branch"],
  plans: {
    // The project with the most merge requests, an author of many, one with notes, and the largest group.
    sample: `select project, author, iid, (
        select min(note.id) from notes note join merge_requests mr on mr.id = note.merge_request_id
        where mr.project_id = project and mr.iid = written.iid
      ) as note, (select min(id) from namespaces where path = 'harbour-works' and parent_id is null) as "group"
      from (
        select mr.project_id as project, mr.author_id as author,
          min(mr.iid) filter (where exists (select from notes note where note.merge_request_id = mr.id)) as iid
        from merge_requests mr
        where mr.project_id = (select project_id from merge_requests group by 1 order by count(*) desc, 1 limit 1)
        group by 1, 2 order by count(*) desc, 2 limit 1
      ) written`,
    requests: ({ project, author, iid, note, group }) => [
      ...list(`/projects/${project}/merge_requests`, { orders: ORDERS }),
      ...list(`/projects/${project}/merge_requests`, { orders: ["order_by=title&sort=asc"], places: FIRST }),
      ...list(`/projects/${project}/merge_requests`, { filters: filtersFor(author), places: FIRST }),
      ...list(`/groups/${group}/merge_requests`, { filters: filtersFor(author), places: FIRST }),
      ...list("/merge_requests", { filters: [any(""), any("scope=all"), any("scope=reviews_for_me")], places: FIRST }),
      ...[
        ...["participants", "notes", "discussions", "award_emoji", "resource_label_events"],
        `notes/${note}/award_emoji`,
      ].flatMap((name) =>
        list(`/projects/${project}/merge_requests/${iid}/${name}`, { filters: [any("")], places: FIRST }),
      ),
    ],
    indexes: ({ project }) => ({
      merge_requests_of_project_by_created_at: `/projects/${project}/merge_requests`,
      merge_requests_of_project_by_title: `/projects/${project}/merge_requests?order_by=title&sort=asc`,
    }),
  },
  fixtures: {
    "merge request": fixture(({ iid }) => iid),
    "discussed merge request": fixture(({ iid }) => iid),
    "note of a merge request": fixture(({ iid, note }) => [iid, note]),
    "discussion of a merge request": fixture((made) => [made.iid, discussionId(made)]),
    "discussion note of a merge request": fixture((made) => [made.iid, discussionId(made), made.begun]),
    "merge request award": fixture(({ iid, award }) => [iid, award]),
    "merge request note award": fixture(({ iid, note, noteAward }) => [iid, note, noteAward]),
    "label event of a merge request": fixture(({ iid, labelEvent }) => [iid, labelEvent]),
    "merge request by somebody": {
      parents: ["project"],
      make: (context, parents) => followed(context, parents, false),
    },
    "merge request subscribed to": {
      parents: ["project"],
      make: (context, parents) => followed(context, parents, true),
    },
    "author of merge requests": { parents: ["user"], make: writtenBy },
    "merge request of a project inside": {
      parents: ["group"],
      async make({ db }, parents) {
        const rows = parents.map(({ id }) => project(id, { visibility: "private" }));
        const inside = (await insertForIds(db, "projects", rows)).map((id) => rowOf(id, null));
        await insert(db, "merge_requests", inside);
        return inside.map(({ iid }) => iid);
      },
    },
  },
};

/** Creates a merge request of nobody for each parent, to which the acting user is subscribed or not. */
async function followed({ db }: FixtureContext, parents: readonly Parent[], subscribed: boolean) {
  const rows = parents.map(({ id }) => rowOf(id, null));
  const ids = await insertForIds(db, "merge_requests", rows, "title");
  const subscriptions = parents.flatMap(({ acting }, at) =>
    acting === undefined ? [] : [{ merge_request_id: ids[at], user_id: acting, subscribed, ...times() }],
  );
  if (subscriptions.length > 0) await insert(db, "subscriptions", subscriptions);
  return rows.map(({ iid }) => iid);
}
