import { type RawBuilder, sql } from "kysely";
import { type GroupSeen, mayUse, type ProjectSeen, visibleGroup, visibleProject } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import type { Databases } from "#db/database.ts";
import { possibleAssignees } from "#domains/planning/items/assignees.ts";
import { EPIC } from "#domains/planning/epics/kind.ts";
import { readersOfEpic } from "#domains/planning/epics/readers.ts";
import { ISSUE } from "#domains/planning/issues/kind.ts";
import { readersOfIssue } from "#domains/planning/issues/readers.ts";
import { epicVisibleIn, issueVisibleIn } from "#domains/planning/items/visibility.ts";
import { noteVisibleIn } from "#domains/conversation/notes/visibility.ts";
import { inOrder, modelOf, nameOf, type Who } from "./model.ts";
import { type Container, groupId, itemId, projectId, userId, type World, type WorldItem } from "./world.ts";

/**
 * The conditions for the items of each place that a caller may use; for internal notes on them; and for notes there that
 * name issues or epics of any place.
 */
export async function compareItems(databases: Databases, world: World, who: Who, actor: Actor | null) {
  const { everything, sees, uses, seesItem, seesInternal } = modelOf(world);
  const places = everything.filter((place) => sees(who, place) && ("group" in place || uses(who, place, "issues")));
  const itemsWhere = (isSeen: (item: WorldItem) => boolean) =>
    world.items.flatMap((item, at) => (isSeen(item) ? itemId(at) : []));
  const differences = places.map(async (place) => {
    const container = await containerOf(databases, actor, place);
    if (!container) return [`${nameOf(who)} does not see ${JSON.stringify(place)}`];
    const isHere = ({ of }: WorldItem) => JSON.stringify(of) === JSON.stringify(place);
    const found = async (rows: RawBuilder<unknown>) =>
      inOrder((await sql<{ id: number }>`${rows}`.execute(databases.read)).rows.map(({ id }) => id));
    const told = {
      items: await found(itemsIn(container, actor)),
      internal: await found(notesIn(container, actor, internalIn(container))),
      issues: await found(notesIn(container, actor, NAMING_ISSUES)),
      epics: await found(notesIn(container, actor, NAMING_EPICS)),
    };
    const wanted = {
      items: inOrder(itemsWhere((item) => isHere(item) && seesItem(who, item))),
      internal: inOrder(itemsWhere((item) => isHere(item) && seesInternal(who, item))),
      issues: inOrder(itemsWhere((item) => "project" in item.of && seesItem(who, item))),
      epics: inOrder(itemsWhere((item) => "group" in item.of && seesItem(who, item))),
    };
    const [given, expected] = [JSON.stringify(told), JSON.stringify(wanted)];
    return given === expected ? [] : [`${nameOf(who)} sees ${given} in ${JSON.stringify(place)}, not ${expected}`];
  });
  return (await Promise.all(differences)).flat();
}

type Seen = ProjectSeen | GroupSeen;
const isProject = (container: Seen): container is ProjectSeen => "namespace_id" in container;

async function containerOf(databases: Databases, actor: Actor | null, place: Container): Promise<Seen | undefined> {
  if ("group" in place) return visibleGroup(databases, actor, groupId(place.group));
  const project = await visibleProject(databases, actor, projectId(place.project));
  return project && mayUse(actor, project, "issues") ? project : undefined;
}

const itemsIn = (container: Seen, actor: Actor | null) =>
  isProject(container)
    ? sql`select i.id from issues i where i.project_id = ${container.id} and ${issueVisibleIn(container, actor)}`
    : sql`select e.id from epics e where e.group_id = ${container.id} and ${epicVisibleIn(container, actor)}`;

/** The ids of those of some imagined notes in a container that an actor sees. */
const notesIn = (container: Seen, actor: Actor | null, imagined: RawBuilder<unknown>) => sql`
  select note.id from (${imagined}) note (id, internal, other_issue_id, other_epic_id)
  where ${noteVisibleIn({ kind: isProject(container) ? ISSUE : EPIC, container, actor })}`;

const internalIn = (container: Seen) =>
  isProject(container)
    ? sql`select i.id, true, null::bigint, null::bigint from issues i where i.project_id = ${container.id}`
    : sql`select e.id, true, null::bigint, null::bigint from epics e where e.group_id = ${container.id}`;
const NAMING_ISSUES = sql`select i.id, false, i.id, null::bigint from issues i`;
const NAMING_EPICS = sql`select e.id, false, null::bigint, e.id from epics e`;

/** The statements about several people at once: who is told of an item or of a note on it, and who can be assigned. */
export async function compareReaders({ read }: Databases, world: World, item: WorldItem, id: number) {
  const { seesItem, seesInternal, uses } = modelOf(world);
  const everyone = [...world.users.keys()];
  const names = everyone.map((user) => `u${userId(user)}`);
  const expected = (isReader: (user: number) => boolean) => inOrder(everyone.filter(isReader).map(userId));
  const { of, confidential, author, assignee } = item;
  const isIssue = "project" in of;
  const { readers } = isIssue ? ISSUE : EPIC;
  const told = isIssue
    ? await readersOfIssue(
        read,
        {
          project_id: projectId(of.project),
          confidential,
          author_id: userId(author),
          assignee_ids: assignee === null ? [] : [userId(assignee)],
        },
        names,
      )
    : await readersOfEpic(read, { group_id: groupId(of.group), confidential }, names);
  const checks: [what: string, told: readonly number[], wanted: string][] = [
    ["readers of", told, expected((user) => seesItem(user, item))],
    ["readers of a note on", await readers(read, id, names, false), expected((user) => seesItem(user, item))],
    [
      "readers of an internal note on",
      await readers(read, id, names, true),
      expected((user) => seesInternal(user, item)),
    ],
    ...(isIssue
      ? [
          [
            "possible assignees of",
            await possibleAssignees(read, projectId(of.project), "issues", everyone.map(userId)),
            expected((user) => uses(user, of, "issues")),
          ] as [string, number[], string],
        ]
      : []),
  ];
  return checks.flatMap(([what, given, wanted]) =>
    inOrder(given) === wanted ? [] : [`${what} ${JSON.stringify(item)} are ${inOrder(given)}, not ${wanted}`],
  );
}
