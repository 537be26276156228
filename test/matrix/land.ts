import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import type { Services } from "#services.ts";
import type { Caller } from "./callers.ts";
import { type Code, isCodeChild, makeCode } from "./code.ts";
import type { CodeState, Place, State, Visibility } from "./line.ts";
import { deployKeyOf, fillAccount, giveKnownKey, tokenOf } from "./possessions.ts";
import { makeRoof, type Roof } from "./roofs.ts";
import {
  type At,
  domain,
  event,
  group,
  insert,
  insertForId,
  insertForIds,
  membership,
  project,
  share,
  word,
} from "./rows.ts";
import type { Account, World } from "./world.ts";

/** A group or project to be made, where the one who acts has what the caller's grants say. */
export interface PlaceWish extends Pick<Place, "kind" | "top" | "child" | "holds" | "code"> {
  readonly caller: Caller;
  /** The user who acts, if one does. */
  readonly acting: number | undefined;
  readonly visibility: Visibility;
  readonly state: State;
  /** The name under which it is kept for all that wish for the like. */
  readonly kept?: string;
}

export interface MadePlace extends Pick<Place, "kind"> {
  readonly id: number;
  readonly name: string;
  readonly fullPath: string;
  /** An address that it had before. */
  readonly oldPath: string;
  /** What the second name of the path stands for: there, at another place, and at a group above. */
  readonly children: Children;
  /** The service account that has the token which the third name of the path stands for. */
  readonly account: number;
  /** The topmost of the groups that it is in. */
  readonly top: number;
}

type Children = Readonly<Record<"own" | "foreign" | "above", number>>;

/** The groups and projects that the cells are about. */
export interface Land {
  make(wishes: readonly PlaceWish[]): Promise<MadePlace[]>;
  /** What is in the repositories of projects. */
  readonly code: Code;
  /** A user and a public group that belong nowhere. */
  readonly user: Account;
  readonly group: number;
  /** An audit event. */
  readonly event: number;
  /** A new project of somebody's, to be moved. */
  makeProject(): Promise<number>;
  /** Tells PostgreSQL how much there is by now: it would go on as if the tables were still empty. */
  settle(): Promise<unknown>;
  /** Changes when anything is written to one of the places. */
  digestOf(places: readonly MadePlace[]): Promise<string>;
}

/** A place in the making. */
interface Site {
  readonly wish: PlaceWish;
  readonly roof: Roof;
  readonly id: number;
  readonly name: string;
  readonly at: At;
}

export async function makeLand(
  services: Services,
  makeAccount: World["makeAccount"],
  somebody: Account,
  accounts: readonly Account[],
  avatar: string,
): Promise<Land> {
  const db = services.db.write;
  const [user, child, third, elsewhere, above] = [
    await makeAccount(),
    await makeAccount(),
    await makeAccount(),
    await makeAccount(),
    await makeAccount(),
  ];
  const newGroup = () => insertForId(db, "namespaces", group(null));
  const [outside, invited, invitedElsewhere, invitedAbove, other] = [
    await newGroup(),
    await newGroup(),
    await newGroup(),
    await newGroup(),
    await newGroup(),
  ];
  const hidden = { user: await makeAccount(), group: await insertForId(db, "namespaces", group(null, PRIVATE)) };
  await insert(db, "members", [membership({ group_id: hidden.group }, hidden.user.id, "guest")]);
  const otherProject = await insertForId(db, "projects", project(other));
  const others: At[] = [{ group_id: other }, { project_id: otherProject }];
  await insert(
    db,
    "members",
    others.map((at) => membership(at, elsewhere.id, "guest")),
  );
  await insert(
    db,
    "shares",
    others.map((at) => share(at, invitedElsewhere, "guest")),
  );
  const eventElsewhere = {
    group: await insertForId(db, "audit_events", event("Group", other)),
    project: await insertForId(db, "audit_events", event("Project", otherProject)),
  };
  await fillAccounts(db, accounts, [user.id, child.id, third.id]);
  await giveKnownKey(db, user.id);
  const code = await makeCode(services, otherProject);
  const [keyElsewhere = 0] = await insertDeployKeysIn(db, user.id, [otherProject]);
  const domainElsewhere = await insertForId(db, "verified_domains", domain(other));
  const personElsewhere = await makeAccount(personOf(other));
  // The list of all service accounts shows three at least.
  const [robotElsewhere] = [
    await makeAccount(robotOf(other)),
    await makeAccount(robotOf(other)),
    await makeAccount(robotOf(other)),
  ];
  const roofs = new Map<string, Promise<Roof>>();

  /** The groups above the places of one caller: those who have no grants share one roof. */
  function roofOf(wish: PlaceWish): Promise<Roof> {
    const { caller, kind, state, acting } = wish;
    const key = [caller.grants && acting !== undefined ? caller.name : "", kind, state === "archived above"].join();
    const known = roofs.get(key);
    if (known) return known;
    const made = makeRoof(db, wish, { user: above.id, group: invitedAbove });
    roofs.set(key, made);
    return made;
  }

  async function make(wishes: readonly PlaceWish[]): Promise<MadePlace[]> {
    const sites = await insertSites(
      db,
      avatar,
      await Promise.all(wishes.map(async (wish) => ({ wish, roof: await roofOf(wish) }))),
    );
    await insert(db, "members", [...sites.flatMap(membersOf), ...(await membersInside(sites))]);
    await insert(db, "shares", sites.flatMap(sharesOf));
    const groups = sites.filter(({ wish }) => wish.holds === "subgroups").flatMap(three);
    await insert(
      db,
      "namespaces",
      groups.map(({ id }) => group(id, PRIVATE)),
    );
    const projects = sites.filter(({ wish }) => wish.holds === "projects").flatMap(three);
    await insert(
      db,
      "projects",
      projects.map(({ id }) => project(id, PRIVATE)),
    );
    await insert(db, "stars", sites.flatMap(starsOf));
    await insert(db, "identities", sites.filter(({ wish }) => wish.holds === "SAML users").flatMap(identitiesOf));
    await code.fill(sites.filter(({ wish }) => wish.code).map(({ id }) => id));
    const robots = await makeRobots(sites);
    const own = new Map([
      ...(await insertEvents(sites)),
      ...(await insertDomains(sites)),
      ...(await insertDeployKeys(sites)),
      ...(await makePeople(sites)),
    ]);
    return sites.map((site) => {
      const above = site.wish.top ? "" : `${site.roof.fullPath}/`;
      return {
        ...{ kind: site.wish.kind, id: site.id, name: site.name, top: site.roof.top },
        ...{ fullPath: above + site.name, oldPath: `${above}${site.name}-old` },
        ...{ children: childrenOf(site, own.get(site) ?? 0, robots.get(site)), account: robots.get(site)?.id ?? 0 },
      };
    });
  }

  function childrenOf({ wish, roof }: Site, made: number, robot: Account | undefined): Children {
    const known = {
      member: { own: child.id, foreign: elsewhere.id, above: above.id },
      "hidden member": { own: hidden.user.id, foreign: elsewhere.id, above: elsewhere.id },
      oneself: { own: wish.acting ?? 0, foreign: 0, above: 0 },
      "owner share": { own: invited, foreign: invitedElsewhere, above: invitedAbove },
      share: { own: invited, foreign: invitedElsewhere, above: invitedAbove },
      "audit event": { own: made, foreign: eventElsewhere[wish.kind], above: roof.event },
      "deploy key": { own: made, foreign: keyElsewhere, above: keyElsewhere },
      domain: { own: made, foreign: domainElsewhere, above: domainElsewhere },
      "enterprise user": { own: made, foreign: personElsewhere.id, above: personElsewhere.id },
      "service account": { own: robot?.id ?? 0, foreign: robotElsewhere.id, above: robotElsewhere.id },
      "service account token": {
        ...{ own: robot?.tokenId ?? 0, foreign: robotElsewhere.tokenId, above: robotElsewhere.tokenId },
      },
      // It is made for each request.
      project: { own: 0, foreign: 0, above: 0 },
    };
    if (wish.holds === "hidden member") return known["hidden member"];
    return known[wish.child === undefined || isCodeChild(wish.child) ? "project" : wish.child];
  }

  function membersOf({ wish, at }: Site) {
    const { kind, caller, acting, child: wanted, holds } = wish;
    const own = (caller.grants ?? []).filter(
      (grant) => grant.at === "it" && !grant.share && (kind === "group" || grant.level !== "minimal"),
    );
    return [
      membership(at, somebody.id, "owner"),
      ...(acting === undefined ? [] : own.map(({ level, ends }) => membership(at, acting, level, ends))),
      ...(wanted === "member" || holds === "members" ? [membership(at, child.id, "guest")] : []),
      ...(holds === "members" ? [membership(at, third.id, "guest")] : []),
    ];
  }

  function sharesOf({ wish, roof, at }: Site) {
    const own = (wish.caller.grants ?? []).flatMap((grant) =>
      grant.at === "it" && grant.share
        ? [share(at, roof.invited.get(grant) ?? 0, grant.share.upTo, grant.share.ends)]
        : [],
    );
    if (wish.child === "hidden member" || wish.holds === "hidden member")
      own.push(share(at, hidden.group, "developer"));
    if (wish.child === "owner share") own.push(share(at, invited, "owner"));
    return wish.child === "share" ? [...own, share(at, invited, "guest")] : own;
  }

  function starsOf({ wish: { holds, acting }, id }: Site) {
    const own = holds === "a star of the caller" && acting !== undefined ? [acting] : [];
    const users = holds === "stars" ? [child.id, third.id, somebody.id] : own;
    return users.map((user_id) => ({ project_id: id, user_id }));
  }

  /** Memberships of projects that are made for them, in the group or beside the project. */
  async function membersInside(sites: readonly Site[]) {
    const wanted = sites.flatMap(({ wish, roof, id }) => {
      const grant = wish.caller.grants?.find(({ at }) => at === "inside");
      const parent = wish.kind === "group" ? id : roof.id;
      return grant && wish.acting !== undefined ? [{ parent, grant, acting: wish.acting }] : [];
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

  /** The events of the places that need some; the last of each is the one that is asked for. */
  async function insertEvents(sites: readonly Site[]): Promise<Map<Site, number>> {
    const wanted = sites.flatMap((site) =>
      site.wish.holds === "audit events" ? three(site) : site.wish.child === "audit event" ? [site] : [],
    );
    const rows = wanted.map(({ id, wish: { kind } }) => event(kind === "group" ? "Group" : "Project", id));
    const ids = await insertForIds(db, "audit_events", rows, "request_id");
    return new Map(wanted.map((site, index) => [site, ids[index] ?? 0]));
  }

  async function insertDomains(sites: readonly Site[]): Promise<Map<Site, number>> {
    const wanted = sites.flatMap((site) =>
      site.wish.holds === "domains" ? three(site) : site.wish.child === "domain" ? [site] : [],
    );
    const rows = wanted.map(({ id }) => domain(id));
    const ids = await insertForIds(db, "verified_domains", rows, "domain");
    return new Map(wanted.map((site, index) => [site, ids[index] ?? 0]));
  }

  async function insertDeployKeys(sites: readonly Site[]): Promise<Map<Site, number>> {
    const wanted = sites.flatMap((site) =>
      site.wish.holds === "deploy keys" ? three(site) : site.wish.child === "deploy key" ? [site] : [],
    );
    const projects = wanted.map(({ id }) => id);
    const ids = await insertDeployKeysIn(db, user.id, projects);
    return new Map(wanted.map((site, index) => [site, ids[index] ?? 0]));
  }

  async function makePeople(sites: readonly Site[]): Promise<Map<Site, number>> {
    const wanted = sites.flatMap((site) =>
      site.wish.holds === "enterprise users" ? three(site) : site.wish.child === "enterprise user" ? [site] : [],
    );
    const people = new Map<Site, number>();
    for (const site of wanted) people.set(site, (await makeAccount(personOf(site.id))).id);
    return people;
  }

  /** Service accounts, of which the last is asked for; it has three tokens where they are. */
  async function makeRobots(sites: readonly Site[]): Promise<Map<Site, Account>> {
    const wanted = sites.flatMap((site) =>
      site.wish.holds === "service accounts"
        ? three(site)
        : site.wish.child?.startsWith("service account")
          ? [site]
          : [],
    );
    const robots = new Map<Site, Account>();
    for (const site of wanted) robots.set(site, await makeAccount(robotOf(site.id)));
    const listed = [...robots].filter(([{ wish }]) => wish.holds === "service account tokens");
    await insert(
      db,
      "personal_access_tokens",
      listed.flatMap(([, { id }]) => [tokenOf(id), tokenOf(id)]),
    );
    return robots;
  }

  const identitiesOf = ({ id }: Site) =>
    [child, third, user].map((each) => ({
      ...{ user_id: each.id, provider: "group_saml", extern_uid: word(), saml_provider_id: id },
      created_at: new Date().toISOString(),
    }));

  return {
    make,
    code,
    user,
    group: outside,
    event: eventElsewhere.group,
    makeProject: () => insertForId(db, "projects", project(other, { visibility: "private" })),
    settle: () => sql`analyze namespaces, projects, members, shares, routes`.execute(db),
    digestOf: (places) => digestOf(db, places),
  };
}

/** A key for each of the projects. */
async function insertDeployKeysIn(db: Db, userId: number, projects: readonly number[]): Promise<number[]> {
  const rows = projects.map(() => deployKeyOf(userId));
  const ids = await insertForIds(db, "keys", rows, "title");
  await insert(
    db,
    "deploy_keys_projects",
    projects.map((project_id, index) => ({ project_id, key_id: ids[index] ?? 0 })),
  );
  return ids;
}

const three = <T>(thing: T): T[] => [thing, thing, thing];

const PRIVATE = { visibility: "private" } as const;

/** An enterprise user of a group. */
const personOf = (groupId: number) => ({ provisioned_by_group_id: groupId, two_factor_enabled: true });

/** A service account of a group. */
const robotOf = (groupId: number) => ({ provisioned_by_group_id: groupId, user_type: "service_account" as const });

/** The setting by which code is not for everybody who sees it. */
function codeFor(state: State) {
  const level = { "code for members": "private", "code for nobody": "disabled" }[state as CodeState];
  return { preferences: level === undefined ? {} : { repository_access_level: level } };
}

/** Makes the groups and projects under an old path and renames them all. */
async function insertSites(db: Db, avatar: string, planned: readonly Pick<Site, "wish" | "roof">[]): Promise<Site[]> {
  const rows = planned.map(({ wish: { kind, top, visibility, state }, roof }) => {
    const name = word();
    const columns = {
      ...{ name, path: `${name}-old`, visibility, archived: state === "archived" },
      marked_for_deletion_at: state === "marked for deletion" ? new Date().toISOString() : null,
      ...{ avatar_blob: avatar, avatar_file: "avatar.gif" },
    };
    const row =
      kind === "group" ? group(top ? null : roof.id, columns) : project(roof.id, { ...columns, ...codeFor(state) });
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
    const { kind, name } = rows[index] ?? { kind: "group", name: "" };
    const id = ids.get(name) ?? 0;
    return { ...plan, id, name, at: kind === "group" ? { group_id: id } : { project_id: id } };
  });
}

/** Three projects of their own for everybody, each starred by its owner and with a deploy key, and whatever else users have. */
async function fillAccounts(db: Db, accounts: readonly Account[], others: readonly number[]) {
  const owned = accounts.flatMap(three);
  const ids = await insertForIds(
    db,
    "projects",
    owned.map(({ namespaceId }) => project(namespaceId)),
  );
  const owners = owned.map(({ id }, index) => ({ project_id: ids[index] ?? 0, user_id: id }));
  await insert(
    db,
    "members",
    owners.map(({ project_id, user_id }) => membership({ project_id }, user_id, "owner")),
  );
  await insert(db, "stars", owners);
  await insertDeployKeysIn(db, others[0] ?? 0, ids);
  for (const { id } of accounts) await fillAccount(db, id, others);
}

async function digestOf(db: Db, places: readonly MadePlace[]): Promise<string> {
  const ids = (kind: Place["kind"]) => places.filter((place) => place.kind === kind).map(({ id }) => id);
  const [groups, projects] = [ids("group"), ids("project")];
  const { rows } = await sql<{ digest: string | null }>`
    select md5(string_agg(line, ',' order by line)) as digest from (
      select n.xmin::text || n::text as line from namespaces n where id = any(${groups}::bigint[])
      union all select p.xmin::text || p::text from projects p where id = any(${projects}::bigint[])
      union all select m.xmin::text || m::text from members m
        where group_id = any(${groups}::bigint[]) or project_id = any(${projects}::bigint[])
      union all select s.xmin::text || s::text from shares s
        where group_id = any(${groups}::bigint[]) or project_id = any(${projects}::bigint[])
      union all select s.xmin::text || s::text from stars s where project_id = any(${projects}::bigint[])
      union all select d.xmin::text || d::text from deploy_keys_projects d
        where project_id = any(${projects}::bigint[])
      union all select e.xmin::text || e::text from events e where project_id = any(${projects}::bigint[])
      union all select r.xmin::text || r::text from repositories r where project_id = any(${projects}::bigint[])
      union all select d.xmin::text || d::text from verified_domains d where group_id = any(${groups}::bigint[])
      union all select u.xmin::text || u::text from users u where provisioned_by_group_id = any(${groups}::bigint[])
      union all select t.xmin::text || t::text from users u join personal_access_tokens t on t.user_id = u.id
        where u.provisioned_by_group_id = any(${groups}::bigint[])
      union all select c.xmin::text || c::text from namespaces c where parent_id = any(${groups}::bigint[])
      union all select c.xmin::text || c::text from projects c where namespace_id = any(${groups}::bigint[])
    ) lines`.execute(db);
  return rows[0]?.digest ?? "";
}
