import { type RawBuilder, sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import { mayUse, visibleGroup, visibleProject } from "#access/containers.ts";
import {
  belongsTo,
  groupVisibleTo,
  memberGroups,
  memberProjects,
  visibleGroups,
  visibleProjects,
  visibleTo,
} from "#access/visible.ts";
import type { Databases } from "#db/database.ts";
import { listPage, type TableSource } from "#db/lists/list-page.ts";
import { order } from "#db/lists/order.ts";
import type { MemberContainer } from "#domains/organization/members/access.ts";
import { listMembers } from "#domains/organization/members/list.ts";
import { everySource, members } from "#domains/organization/members/queries.ts";
import { epicVisibleTo, issueVisibleTo } from "#domains/planning/items/visibility.ts";
import { compareItems, compareReaders } from "./items.ts";
import { inOrder, modelOf, nameOf, type Who } from "./model.ts";
import { groupId, type Container, itemId, projectId, userId, type World } from "./world.ts";

const administrator = actorOf(0, true, false);
const BY_ID = {
  id: "u.id",
  order: order("u.id", "bigint"),
  sort: "asc",
  keyset: false,
  offset: 0,
  limit: 1000,
} as const;

function actorOf(id: number, admin: boolean, external: boolean): Actor {
  const user = {
    id,
    username: `u${id}`,
    name: "u",
    state: "active",
    user_type: "human",
    admin,
    external,
    confirmed: true,
    password_expired: false,
    service_account_group_id: null,
  } as const;
  return { kind: "user by token", user, token: { id: 0, scopes: [] } };
}

/** Compares every statement about levels and visibility with the model; returns the number of pairs and the differences. */
export async function compare(databases: Databases, world: World): Promise<{ pairs: number; wrong: string[] }> {
  const model = modelOf(world);
  const everyone: Who[] = [null, ...world.users.keys()];
  const wrong = await Promise.all([
    ...everyone.map((who) => comparePoints(databases, world, who)),
    ...everyone.map((who) => compareLists(databases, world, who)),
    ...everyone.map((who) => compareItems(databases, world, who, actorIn(world, who))),
    ...world.items.map((item, at) => compareReaders(databases, world, item, itemId(at))),
    ...model.everything.map((place) => compareMembers(databases, world, place)),
  ]);
  return { pairs: everyone.length * model.everything.length, wrong: wrong.flat() };
}

const actorIn = ({ users }: World, who: Who): Actor | null =>
  who === null ? null : actorOf(userId(who), users[who]?.admin === true, users[who]?.external === true);

async function comparePoints(databases: Databases, world: World, who: Who): Promise<string[]> {
  const { everything, level, sees, uses } = modelOf(world);
  const actor = actorIn(world, who);
  const use = (used: boolean) => (used ? ` and ${world.feature}` : "");
  const differences = everything.map(async (place) => {
    const project = "project" in place && (await visibleProject(databases, actor, projectId(place.project)));
    const found = "group" in place ? await visibleGroup(databases, actor, groupId(place.group)) : project;
    const expected = sees(who, place) ? `level ${level(who, place)}${use(uses(who, place))}` : "nothing";
    const used = project ? mayUse(actor, project, world.feature) : false;
    const told = found ? `level ${found.level}${use(used)}` : "nothing";
    return expected === told ? [] : [`${nameOf(who)} sees ${told} of ${JSON.stringify(place)}, not ${expected}`];
  });
  return (await Promise.all(differences)).flat();
}

async function compareLists(databases: Databases, world: World, who: Who): Promise<string[]> {
  const { everything, level, sees, uses, seesItem } = modelOf(world);
  const actor = actorIn(world, who);
  const { least, feature } = world;
  const items = (kind: "project" | "group") =>
    world.items.flatMap((item, at) => (kind in item.of && seesItem(who, item) ? itemId(at) : []));
  const seen = everything.filter((place) => sees(who, place));
  const owned = everything.filter((place) => level(who, place) >= least);
  const projects = (places: readonly Container[]) =>
    places.flatMap((place) => ("project" in place ? projectId(place.project) : []));
  const groups = (places: readonly Container[]) =>
    places.flatMap((place) => ("group" in place ? groupId(place.group) : []));
  const isGroup = sql<boolean>`n.kind = 'group'`;
  const asked: [what: string, rows: RawBuilder<unknown>, expected: number[]][] = [
    ["visibleTo", sql`select p.id from projects p where ${visibleTo(actor)}`, projects(seen)],
    [
      `visibleTo with ${feature}`,
      sql`select p.id from projects p where ${visibleTo(actor, { feature })}`,
      projects(everything.filter((place) => uses(who, place))),
    ],
    ["visibleProjects", joined("p", visibleProjects(actor)), projects(seen)],
    ["groupVisibleTo", sql`select n.id from namespaces n where ${isGroup} and ${groupVisibleTo(actor)}`, groups(seen)],
    ["visibleGroups", joined("n", visibleGroups(actor)), groups(seen)],
    [
      "issueVisibleTo",
      sql`select i.id from issues i join projects p on p.id = i.project_id where ${issueVisibleTo(actor)}`,
      items("project"),
    ],
    [
      "epicVisibleTo",
      sql`select e.id from epics e join namespaces n on n.id = e.group_id where ${epicVisibleTo(actor)}`,
      items("group"),
    ],
  ];
  if (who !== null) {
    const id = userId(who);
    asked.push(
      ["memberProjects", joined("p", memberProjects(id, { minLevel: least })), projects(owned)],
      ["belongsTo", sql`select p.id from projects p where ${belongsTo(id, least)}`, projects(owned)],
      ["memberGroups", joined("n", memberGroups(id, least)), groups(owned)],
    );
  }
  const differences = asked.map(async ([what, rows, expected]) => {
    const { rows: given } = await sql<{ id: number }>`${rows}`.execute(databases.read);
    const told = inOrder(given.map(({ id }) => id));
    return told === inOrder(expected) ? [] : [`${what} of ${nameOf(who)} gives ${told}, not ${inOrder(expected)}`];
  });
  return (await Promise.all(differences)).flat();
}

async function compareMembers(databases: Databases, world: World, place: Container): Promise<string[]> {
  const { level } = modelOf(world);
  const { read } = databases;
  const at = await memberPlace(databases, place);
  const sources = await everySource(read, administrator, at);
  const rows = await members(read, at, sources).execute();
  const listing = listMembers(at, sources, {});
  const { rows: listed } = await listPage(databases, read.selectFrom("users as u").select("u.id"), listing, BY_ID);
  const expected = [...world.users.keys()].flatMap((user) => {
    const worth = level(user, place);
    return worth === 0 ? [] : [[userId(user), worth] as const];
  });
  const told = pairs(rows.map(({ id, access_level }) => [id, access_level] as const));
  const ids = inOrder(listed.map(({ id }) => id));
  const wanted = inOrder(expected.map(([id]) => id));
  return [
    ...(told === pairs(expected) ? [] : [`members of ${JSON.stringify(place)} are ${told}, not ${pairs(expected)}`]),
    ...(ids === wanted ? [] : [`listed members of ${JSON.stringify(place)} are ${ids}, not ${wanted}`]),
  ];
}

async function memberPlace(databases: Databases, place: Container): Promise<MemberContainer> {
  if ("group" in place) {
    const group = await visibleGroup(databases, administrator, groupId(place.group));
    if (group) return { kind: "group", ...group };
  } else {
    const project = await visibleProject(databases, administrator, projectId(place.project));
    if (project) return { kind: "project", ...project };
  }
  throw new Error(`An administrator does not see ${JSON.stringify(place)}`);
}

const joined = (alias: "p" | "n", sources: readonly TableSource[]) =>
  sql.join(
    sources.map(({ scan }) => sql`select ${sql.ref(`${alias}.id`)} from ${scan} ${sql.ref(alias)}`),
    sql` union all `,
  );

const pairs = (levels: readonly (readonly [id: number, level: number])[]) =>
  levels
    .toSorted(([a], [b]) => a - b)
    .map(([id, level]) => `${id} at ${level}`)
    .join(", ");
