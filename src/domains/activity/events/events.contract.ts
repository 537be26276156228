import type { Contract, FixtureContext, Parent } from "#test/contract.ts";
import { inGroup, inProject, line, READ_USER } from "#test/matrix/line.ts";
import { insert, insertForIds, membership, project } from "#test/matrix/rows.ts";
import { list, unskippable } from "#test/plans/request.ts";

const CREATION = { action: 1 };
const JOINED = 8;
const JOINING = { action: JOINED };
/** That of a milestone is left when the milestone is gone. */
const REMOVAL = { action: 10, target_type: "Milestone", target_id: 1 };
const FOUND = [200, 200, 404] as const;
/** What the caller may see is looked up for each event before a page. */
const DEEP = [{ ...unskippable(""), rows: "any" }] as const;
const SIGNED_IN = { signedIn: true } as const;

/** Three events of each parent, by the acting user. */
const makeIn =
  (column: "project_id" | "group_id", ...events: readonly object[]) =>
  async ({ db, person }: FixtureContext, parents: readonly Parent[]) => {
    const somebody = await person("author of events");
    const rows = parents.flatMap(({ id, acting }) =>
      events.map((event) => ({ [column]: id, author_id: acting ?? somebody, ...event })),
    );
    const made = await insert(db, "events", rows);
    return parents.map((_, index) => made[events.length * index]?.["id"] as number);
  };

/** An event of each user, in a project of which they are a member. */
async function makeOfUsers({ db, group }: FixtureContext, parents: readonly Parent[]) {
  const groupId = await group("events");
  const projects = await insertForIds(
    db,
    "projects",
    parents.map(() => project(groupId)),
    "path",
  );
  const projectOf = (index: number) => ({ project_id: projects[index] ?? 0 });
  await insert(
    db,
    "members",
    parents.map(({ id }, index) => membership(projectOf(index), id, "guest")),
  );
  const made = await insert(
    db,
    "events",
    parents.map(({ id }, index) => ({ ...projectOf(index), author_id: id, action: JOINED })),
  );
  return made.map((row) => row["id"] as number);
}

export const contract: Contract = {
  lines: {
    "GET /events": line(401, 200, 200, READ_USER, { object: "event of a user", by: "scope" }),
    "GET /users/:id/events": line(401, FOUND, FOUND, READ_USER, { object: "user" }),
    "GET /projects/:id/events": inProject("viewer", 200, READ_USER, { ...SIGNED_IN, holds: "event" }),
    "GET /groups/:id/events": inGroup("viewer", 200, READ_USER, { ...SIGNED_IN, holds: "event of a group" }),
  },
  plans: {
    sample: `select project_id as project, author_id as author,
        (select min(id) from namespaces where path = 'harbour-works' and parent_id is null) as "group"
      from events where project_id is not null group by 1, 2 order by count(*) desc, 1, 2 limit 1`,
    requests: ({ project: id, author, group }) => [
      ...list(`/groups/${group}/events`, { callers: ["member of the largest", "administrator"], filters: DEEP }),
      ...list("/events?scope=all", { callers: ["member of 5,000", "member of the largest"], filters: DEEP }),
      ...list(`/projects/${id}/events`, { filters: DEEP }),
      ...list(`/users/${author}/events`, { filters: DEEP }),
    ],
    indexes: ({ project: id, author }) => ({
      events_of_project: `/projects/${id}/events`,
      events_of_author: `/users/${author}/events`,
    }),
  },
  fixtures: {
    event: { parents: ["project"], make: makeIn("project_id", CREATION, JOINING, JOINING) },
    "event of a group": { parents: ["group"], make: makeIn("group_id", REMOVAL, REMOVAL, REMOVAL) },
    "event of a user": { parents: ["user"], make: makeOfUsers },
  },
};
