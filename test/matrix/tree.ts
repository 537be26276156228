import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import type { Services } from "#services.ts";
import type { FixtureContext, Name } from "#test/contract.ts";
import { fixtures, makeFixtures } from "#test/support/fixtures.ts";
import type { Caller } from "./callers.ts";
import { type Code, makeCode } from "./code.ts";
import { digester } from "./digest.ts";
import type { CodeState, Container, State, Visibility } from "./line.ts";
import { makeAncestors, type Ancestors } from "./ancestors.ts";
import {
  at,
  group,
  insert,
  insertForId,
  insertForIds,
  KNOWN_PREFIX,
  membership,
  project,
  share,
  word,
} from "./rows.ts";
import type { Account } from "./world.ts";

/** A group or project to create, in which the acting user has the caller's grants. */
export interface ContainerSpec extends Pick<Container, "kind" | "top" | "child" | "holds" | "code"> {
  readonly caller: Caller;
  /** The user who acts, if one does. */
  readonly acting: number | undefined;
  readonly visibility: Visibility;
  readonly state: State;
  /** Specs with the same name share one container. */
  readonly sharedAs?: string;
}

export interface TestContainer extends Pick<Container, "kind"> {
  readonly id: number;
  readonly name: string;
  readonly fullPath: string;
  /** A previous path. */
  readonly oldPath: string;
  /** The path names of its child, of one elsewhere, and of one in a group above. */
  readonly children: Children;
  /** The top-level group above it. */
  readonly top: number;
}

type Children = Readonly<Record<"own" | "foreign" | "above", readonly Name[]>>;

/** The groups and projects that the cells are about. */
export interface Tree {
  make(specs: readonly ContainerSpec[]): Promise<TestContainer[]>;
  /** What is in the repositories of projects. */
  readonly code: Code;
  /** A user and a public group that belong nowhere. */
  readonly user: number;
  readonly group: number;
  /** Creates a project of the other user, to be moved. */
  makeProject(): Promise<number>;
  /** Updates the statistics, without which PostgreSQL plans as if the tables were still empty. */
  analyze(): Promise<unknown>;
  /** Changes when anything is written to one of the containers. */
  digestOf(containers: readonly TestContainer[]): Promise<string>;
}

/** A container that was inserted, with its ancestors. */
interface NewContainer {
  readonly spec: ContainerSpec;
  readonly ancestors: Ancestors;
  readonly id: number;
  readonly name: string;
}

export async function makeTree(
  services: Services,
  context: FixtureContext,
  otherUser: Account,
  accounts: readonly Account[],
  avatar: string,
): Promise<Tree> {
  const { db } = context;
  const other = await insertForId(db, "namespaces", group(null));
  const otherProject = await insertForId(db, "projects", project(other));
  const code = await makeCode(services, otherProject);
  const elsewhere = await makeElsewhere(context, { group: other, project: otherProject });
  await fillAccounts(context, accounts);
  const ownerAbove = await context.person("owner above");
  const knownAncestors = new Map<string, Promise<Ancestors>>();

  /** The groups above the containers of one caller; callers without grants share them. */
  function ancestorsOf(spec: ContainerSpec): Promise<Ancestors> {
    const { caller, kind, state, acting } = spec;
    const key = [caller.grants && acting !== undefined ? caller.name : "", kind, state === "archived above"].join();
    const known = knownAncestors.get(key);
    if (known) return known;
    const made = makeAncestors(context, spec, ownerAbove);
    knownAncestors.set(key, made);
    return made;
  }

  async function make(specs: readonly ContainerSpec[]): Promise<TestContainer[]> {
    const newContainers = await insertContainers(
      db,
      avatar,
      await Promise.all(specs.map(async (spec) => ({ spec, ancestors: await ancestorsOf(spec) }))),
    );
    await insert(db, "members", [...newContainers.flatMap(membersOf), ...(await membersInside(newContainers))]);
    await insert(db, "shares", newContainers.flatMap(sharesOf));
    await code.fill(newContainers.filter(({ spec }) => spec.code).map(({ id }) => id));
    const own = await makeChildren(context, newContainers);
    return newContainers.map((site) => {
      const { spec, ancestors, id, name } = site;
      const above = spec.top ? "" : `${ancestors.fullPath}/`;
      const child = fixtureOf(spec) ?? "";
      const foreign = elsewhere.get(`${child} ${spec.kind}`) ?? [];
      return {
        ...{ kind: spec.kind, id, name, top: ancestors.top },
        ...{ fullPath: above + name, oldPath: `${above}${name}-old` },
        children: { own: own.get(site) ?? [], foreign, above: ancestors.children.get(child) ?? foreign },
      };
    });
  }

  function membersOf({ spec: { kind, caller, acting }, id }: NewContainer) {
    const own = (caller.grants ?? []).filter(
      (grant) => grant.at === "it" && !grant.share && (kind === "group" || grant.level !== "minimal"),
    );
    const container = at({ kind, id });
    return [
      membership(container, otherUser.id, "owner"),
      ...(acting === undefined ? [] : own.map(({ level, ends }) => membership(container, acting, level, ends))),
    ];
  }

  function sharesOf({ spec: { kind, caller }, ancestors, id }: NewContainer) {
    return (caller.grants ?? []).flatMap((grant) =>
      grant.at === "it" && grant.share
        ? [share(at({ kind, id }), ancestors.invited.get(grant) ?? 0, grant.share.upTo, grant.share.ends)]
        : [],
    );
  }

  /** Memberships in projects that are created for them, in the group or beside the project. */
  async function membersInside(newContainers: readonly NewContainer[]) {
    const wanted = newContainers.flatMap(({ spec, ancestors, id }) => {
      const grant = spec.caller.grants?.find((each) => each.at === "inside");
      const parent = spec.kind === "group" ? id : ancestors.id;
      return grant && spec.acting !== undefined ? [{ parent, grant, acting: spec.acting }] : [];
    });
    const ids = await insertForIds(
      db,
      "projects",
      wanted.map(({ parent }) => project(parent, { visibility: "private" })),
    );
    return wanted.map(({ grant, acting }, index) =>
      membership({ project_id: ids[index] ?? 0 }, acting, grant.level, grant.ends),
    );
  }

  const digest = await digester(db);
  return {
    ...{ make, code },
    ...{ user: await context.person("outside"), group: await context.group("outside") },
    makeProject: () => insertForId(db, "projects", project(other, { visibility: "private" })),
    analyze: () => sql`analyze namespaces, projects, members, shares, routes`.execute(db),
    digestOf: (containers) => {
      const ids = (kind: Container["kind"]) =>
        containers.filter((container) => container.kind === kind).map(({ id }) => id);
      return digest(ids("group"), ids("project"));
    },
  };
}

/** The fixture that a path names or a list shows. */
function fixtureOf({ child, holds }: ContainerSpec): string | undefined {
  return child !== undefined && fixtures.has(child) ? child : holds;
}

/** Creates the fixtures of containers, three if a list shows them, and returns the path names of the requested one. */
async function makeChildren(
  context: FixtureContext,
  newContainers: readonly NewContainer[],
): Promise<Map<NewContainer, readonly Name[]>> {
  const wanted = newContainers.flatMap((site) => {
    const { child, holds } = site.spec;
    const one = child !== undefined && fixtures.has(child) ? [{ site, fixture: child, turn: 0 }] : [];
    return holds === undefined ? one : [...one, ...[0, 1, 2].map((turn) => ({ site, fixture: holds, turn }))];
  });
  const names = new Map<NewContainer, readonly Name[]>();
  for (const [fixture, some] of Map.groupBy(wanted, (each) => each.fixture)) {
    const made = await makeFixtures(
      context,
      fixture,
      some.map(({ site: { spec, id }, turn }) => ({ kind: spec.kind, id, acting: spec.acting, name: String(turn) })),
    );
    for (const [index, { site }] of some.entries())
      if (fixture === fixtureOf(site.spec)) names.set(site, made[index] ?? []);
  }
  return names;
}

/** Creates three of each fixture in a group and a project that no request names, and returns the names of the first. */
async function makeElsewhere(context: FixtureContext, ids: { readonly group: number; readonly project: number }) {
  const names = new Map<string, readonly Name[]>();
  for (const [fixture, { parents }] of fixtures) {
    for (const parent of parents) {
      if (parent === "user") continue;
      const kind = parent === "project" ? "project" : "group";
      const [first = []] = await makeFixtures(
        context,
        fixture,
        ["elsewhere", "elsewhere too", "elsewhere again"].map((name) => ({ kind, id: ids[kind], name })),
      );
      names.set(`${fixture} ${kind}`, first);
    }
  }
  return names;
}

/** Creates three of each fixture of users, so that each list can be paged. */
async function fillAccounts(context: FixtureContext, accounts: readonly Account[]) {
  const parents = accounts.flatMap(({ id }) =>
    [0, 1, 2].map((turn) => ({ kind: "user", id, name: `${KNOWN_PREFIX}${turn}` }) as const),
  );
  for (const [fixture, { parents: kinds }] of fixtures)
    if (kinds.includes("user")) await makeFixtures(context, fixture, parents);
}

/** The setting that restricts the code of a project. */
function codeFor(state: State) {
  const level = { "code for members": "private", "code for nobody": "disabled" }[state as CodeState];
  return { preferences: level === undefined ? {} : { repository_access_level: level } };
}

/** Inserts the groups and projects under an old path and renames them all. */
async function insertContainers(
  db: Db,
  avatar: string,
  planned: readonly Pick<NewContainer, "spec" | "ancestors">[],
): Promise<NewContainer[]> {
  const rows = planned.map(({ spec: { kind, top, visibility, state }, ancestors }) => {
    const name = word();
    const columns = {
      ...{ name, path: `${name}-old`, visibility, archived: state === "archived" },
      marked_for_deletion_at: state === "marked for deletion" ? new Date().toISOString() : null,
      ...{ avatar_blob: avatar, avatar_file: "avatar.gif" },
    };
    const row =
      kind === "group"
        ? group(top ? null : ancestors.id, columns)
        : project(ancestors.id, { ...columns, ...codeFor(state) });
    return { kind, name, row };
  });
  const ids = new Map<string, number>();
  for (const [kind, table] of [
    ["group", "namespaces"],
    ["project", "projects"],
  ] as const) {
    const some = rows.filter((row) => row.kind === kind);
    const made = await insertForIds(
      db,
      table,
      some.map(({ row }) => row),
    );
    for (const [index, { name }] of some.entries()) ids.set(name, made[index] ?? 0);
    if (made.length > 0)
      await sql`update ${sql.table(table)} set path = name where id = any(${made}::bigint[])`.execute(db);
  }
  return planned.map((plan, index) => {
    const { name = "" } = rows[index] ?? {};
    const id = ids.get(name) ?? 0;
    return { ...plan, id, name };
  });
}
