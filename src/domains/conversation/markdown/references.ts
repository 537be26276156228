import { sql } from "kysely";
import type { ProjectSeen } from "#access/containers.ts";
import { resolveNamespace, resolveProject } from "#access/paths.ts";
import type { Actor } from "#access/principal.ts";
import type { Databases } from "#db/database.ts";
import type { TextLink, TextLinks } from "#lib/markdown/parse.ts";
import { namespacesByIds } from "#domains/foundation/namespaces/queries.ts";
import { type ItemKind, itemUrl, pathOfRow, rowsWithContainer } from "#domains/conversation/items/item.ts";

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
export async function referenceLinks(
  db: Databases,
  kinds: readonly ItemKind[],
  text: string,
  reader: Reader,
): Promise<TextLinks> {
  const { itemsOf, usernames } = referencesIn(text);
  const links = await Promise.all([
    ...kinds.map((kind) => itemLinks(db, kind, itemsOf(kind), reader)),
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
  const itemsOf = ({ sign }: ItemKind): ItemReference[] =>
    [...found].flatMap(([reference, groups]) =>
      groups["sign"] === sign ? { text: reference, path: groups["path"], iid: Number(groups["iid"]) } : [],
    );
  const usernames = [...found.values()].flatMap(({ username }) => username ?? []);
  return { itemsOf, usernames };
}

type Links = (readonly [text: string, link: TextLink])[];

/** A row of an item that a reference may name, with the id of the container in which it was looked up. */
interface ItemRow {
  readonly container_id: number;
  readonly iid: number;
  readonly title: string;
  readonly path: string;
}

/** The links to the items of one kind. */
async function itemLinks(
  db: Databases,
  kind: ItemKind,
  references: readonly ItemReference[],
  reader: Reader,
): Promise<Links> {
  const resolved = await resolveContainers(db, kind, references, reader.project);
  if (resolved.length === 0) return [];
  const [container, iid] = [sql.ref(`${kind.alias}.${kind.container}_id`), sql.ref(`${kind.alias}.iid`)];
  const { rows } = await sql<ItemRow>`
    select ${container} as container_id, ${iid}, ${sql.ref(`${kind.alias}.title`)}, ${pathOfRow(kind)} as path
    from ${namedBy(resolved)} named
      join (${rowsWithContainer(kind)}) on ${container} = named.container_id and ${iid} = named.iid
    where ${kind.isVisible(reader.actor)}`.execute(db.write);
  const byName = new Map(rows.map((row) => [`${row.container_id} ${row.iid}`, row]));
  return resolved.flatMap(({ text, containerId, iid: number }) => {
    const row = byName.get(`${containerId} ${number}`);
    if (!row) return [];
    const href = itemUrl(kind, reader.site, row.path, row.iid);
    return [[text, { href, title: row.title, className: `gfm gfm-${kind.word}` }] as const];
  });
}

interface ResolvedReference extends ItemReference {
  readonly containerId: number;
}

/** The containers that references name: by their full path, or by that below the namespace of the project. */
async function resolveContainers(
  db: Databases,
  { container }: ItemKind,
  references: readonly ItemReference[],
  project: ProjectSeen | undefined,
): Promise<ResolvedReference[]> {
  const isNamed = references.some(({ path }) => path !== undefined);
  const [namespace] = project && isNamed ? await namespacesByIds(db.write, [project.namespace_id]) : [];
  const own = project && ownContainer(container, project);
  const find = async (path: string) =>
    (await (container === "project" ? resolveProject(db, path) : resolveNamespace(db, path))).id;
  const findAnywhere = async (path: string) =>
    (await find(path)) || (namespace ? find(`${namespace.full_path}/${path}`) : 0);
  const resolved = references.map(async ({ path, ...reference }) => {
    // A number would be taken for an id.
    const containerId = path === undefined ? (own ?? 0) : /^\d+$/.test(path) ? 0 : await findAnywhere(path);
    return { ...reference, path, containerId };
  });
  return (await Promise.all(resolved)).filter(({ containerId }) => containerId > 0);
}

/** The container of references without a path: the project, or the group that it is in. */
function ownContainer(container: ItemKind["container"], { id, namespace_id, namespace_kind }: ProjectSeen) {
  if (container === "project") return id;
  return namespace_kind === "group" ? namespace_id : undefined;
}

/** The containers and numbers of references, as rows. */
const namedBy = (references: readonly ResolvedReference[]) => sql`(
  select distinct * from unnest(${references.map(({ containerId }) => containerId)}::bigint[],
    ${references.map(({ iid }) => iid)}::bigint[]) as pairs (container_id, iid))`;

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
