import { sql } from "kysely";
import type { ProjectSeen } from "#access/containers.ts";
import { resolveNamespace, resolveProject } from "#access/paths.ts";
import type { Actor } from "#access/principal.ts";
import type { Databases } from "#db/database.ts";
import type { TextLink, TextLinks } from "#lib/markdown/parse.ts";
import { fullPath, namespacesByIds } from "#domains/foundation/namespaces/queries.ts";
import { itemUrl } from "#domains/planning/items/item.ts";
import { epicVisibleTo, issueVisibleTo } from "#domains/planning/items/visibility.ts";
import { ISSUE } from "#domains/planning/issues/kind.ts";
import { EPIC } from "#domains/planning/epics/kind.ts";

/** Who reads a text, and the project in which short references are looked up. */
interface Reader {
  readonly actor: Actor;
  readonly site: string;
  readonly project?: ProjectSeen | undefined;
}

/** More different references of one text stay text. */
const MAX_REFERENCES = 500;

/**
 * What refers to something: `#12`, `project#12`, `group/project#12`, `&3`, `group&3` and `@user`. It begins where no
 * name could go on, so that every letter is looked at once.
 */
const REFERENCE =
  /(?<![\w./#&@-])(?:(?<path>[a-z\d_][\w./-]{0,499})?(?<sign>[#&])(?<iid>[1-9]\d{0,8})|@(?<username>[a-z\d](?:[\w.-]{0,253}[a-z\d])?))(?![\w])/giu;

/** A reference to an issue or epic in a text. */
interface ItemReference {
  readonly text: string;
  readonly path: string | undefined;
  readonly iid: number;
}

/** The links of the references in a text, for those whose target the reader may see. */
export async function referenceLinks(db: Databases, text: string, reader: Reader): Promise<TextLinks> {
  const { issues, epics, usernames } = referencesIn(text);
  const links = await Promise.all([
    issueLinks(db, issues, reader),
    epicLinks(db, epics, reader),
    userLinks(db, usernames, reader),
  ]);
  return { pattern: REFERENCE, links: new Map(links.flat()) };
}

function referencesIn(text: string) {
  const found = new Map<string, Record<string, string | undefined>>();
  for (const { 0: reference, groups = {} } of text.matchAll(REFERENCE)) {
    found.set(reference, groups);
    if (found.size >= MAX_REFERENCES) break;
  }
  const itemsOf = (sign: string): ItemReference[] =>
    [...found].flatMap(([reference, groups]) =>
      groups["sign"] === sign ? { text: reference, path: groups["path"], iid: Number(groups["iid"]) } : [],
    );
  const usernames = [...found.values()].flatMap(({ username }) => username ?? []);
  return { issues: itemsOf("#"), epics: itemsOf("&"), usernames };
}

type Links = (readonly [text: string, link: TextLink])[];

/** A row of an item that a reference may name, with the id of the container in which it was looked up. */
interface ItemRow {
  readonly container_id: number;
  readonly iid: number;
  readonly title: string;
  readonly path: string;
}

async function issueLinks(db: Databases, references: readonly ItemReference[], reader: Reader): Promise<Links> {
  const resolved = await resolveContainers(db, references, reader.project, {
    own: reader.project?.id,
    find: async (path) => (await resolveProject(db, path)).id,
  });
  if (resolved.length === 0) return [];
  const { rows } = await sql<ItemRow>`
    select i.project_id as container_id, i.iid, i.title, ${fullPath("n")} || '/' || p.path as path
    from ${namedBy(resolved)} named join issues i on i.project_id = named.container_id and i.iid = named.iid
      join projects p on p.id = i.project_id join namespaces n on n.id = p.namespace_id
    where ${issueVisibleTo(reader.actor)}`.execute(db.write);
  return linksTo(resolved, rows, "issue", ({ path, iid }) => itemUrl(ISSUE, reader.site, path, iid));
}

async function epicLinks(db: Databases, references: readonly ItemReference[], reader: Reader): Promise<Links> {
  const { project } = reader;
  const resolved = await resolveContainers(db, references, reader.project, {
    own: project?.namespace_kind === "group" ? project.namespace_id : undefined,
    find: async (path) => (await resolveNamespace(db, path)).id,
  });
  if (resolved.length === 0) return [];
  const { rows } = await sql<ItemRow>`
    select e.group_id as container_id, e.iid, e.title, ${fullPath("n")} as path
    from ${namedBy(resolved)} named join epics e on e.group_id = named.container_id and e.iid = named.iid
      join namespaces n on n.id = e.group_id
    where ${epicVisibleTo(reader.actor)}`.execute(db.write);
  return linksTo(resolved, rows, "epic", ({ path, iid }) => itemUrl(EPIC, reader.site, path, iid));
}

interface ResolvedReference extends ItemReference {
  readonly containerId: number;
}

interface Containers {
  /** The container of references without a path. */
  readonly own: number | undefined;
  /** The id of the container with a full path; 0 if there is none. */
  find(path: string): Promise<number>;
}

/** The containers that references name: by their full path, or by that below the namespace of the project. */
async function resolveContainers(
  db: Databases,
  references: readonly ItemReference[],
  project: ProjectSeen | undefined,
  { own = 0, find }: Containers,
): Promise<ResolvedReference[]> {
  const isNamed = references.some(({ path }) => path !== undefined);
  const [namespace] = project && isNamed ? await namespacesByIds(db.write, [project.namespace_id]) : [];
  const findAnywhere = async (path: string) =>
    (await find(path)) || (namespace ? find(`${namespace.full_path}/${path}`) : 0);
  const resolved = references.map(async ({ path, ...reference }) => {
    // A number would be taken for an id.
    const containerId = path === undefined ? own : /^\d+$/.test(path) ? 0 : await findAnywhere(path);
    return { ...reference, path, containerId };
  });
  return (await Promise.all(resolved)).filter(({ containerId }) => containerId > 0);
}

/** The containers and numbers of references, as rows. */
const namedBy = (references: readonly ResolvedReference[]) => sql`(
  select distinct * from unnest(${references.map(({ containerId }) => containerId)}::bigint[],
    ${references.map(({ iid }) => iid)}::bigint[]) as pairs (container_id, iid))`;

function linksTo(
  references: readonly ResolvedReference[],
  rows: readonly ItemRow[],
  kind: "issue" | "epic",
  hrefOf: (row: ItemRow) => string,
): Links {
  const byName = new Map(rows.map((row) => [`${row.container_id} ${row.iid}`, row]));
  return references.flatMap(({ text, containerId, iid }) => {
    const row = byName.get(`${containerId} ${iid}`);
    return row ? [[text, { href: hrefOf(row), title: row.title, className: `gfm gfm-${kind}` }] as const] : [];
  });
}

async function userLinks(db: Databases, usernames: readonly string[], { site }: Reader): Promise<Links> {
  if (usernames.length === 0) return [];
  const { rows } = await sql<{ username: string; name: string }>`
    select u.username, u.name from users u
    where lower(u.username) = any(${usernames.map((name) => name.toLowerCase())}::text[])`.execute(db.write);
  const byName = new Map(rows.map((row) => [row.username.toLowerCase(), row]));
  return usernames.flatMap((name) => {
    const user = byName.get(name.toLowerCase());
    const link = user && { href: `${site}/${user.username}`, title: user.name, className: "gfm gfm-project_member" };
    return link ? [[`@${name}`, link] as const] : [];
  });
}
