import {
  type GroupSeen,
  hasRole,
  mayUse,
  openTo,
  type ProjectSeen,
  visibleGroup,
  visibleProject,
} from "#access/containers.ts";
import type { FEATURE_ACCESS } from "#access/features.ts";
import { type Actor, actorOf, isUserOrAnonymous, type Principal } from "#access/principal.ts";
import type { Role } from "#access/roles.ts";
import type { Databases } from "#db/database.ts";
import { bigints, type Lookup } from "#db/loader.ts";
import type { RepositoryOwner } from "#domains/storage/pushes/access.ts";
import { ONLY_BRANCH } from "#domains/storage/repositories/location.ts";

/** The project or group that a wiki belongs to. */
export type WikiContainer =
  | { readonly kind: "project"; readonly seen: ProjectSeen }
  | { readonly kind: "group"; readonly seen: GroupSeen };

/** The wiki of a project or group that a caller sees; without a repository it has no page yet. */
export interface WikiSeen {
  readonly container: WikiContainer;
  /** Whom the wiki of a group is for; that of a project is a feature of the project. */
  readonly access_level: (typeof FEATURE_ACCESS)[number];
  readonly repository: WikiRepository | undefined;
}

/** The repository of a wiki, under the id of its project or group. */
interface WikiRepository extends RepositoryOwner {
  readonly read_only: boolean;
}

interface WikiRow {
  readonly id: number;
  readonly access_level: (typeof FEATURE_ACCESS)[number];
  readonly repository_id: number | null;
  readonly repository_storage: string;
  readonly repository_path: string;
  readonly read_only: boolean;
}

const REPOSITORY = `r.id as repository_id, r.storage as repository_storage, r.disk_path as repository_path,
  coalesce(r.read_only_until > now(), false) as read_only`;

const LOOKUPS: Readonly<Record<WikiContainer["kind"], Lookup<number, WikiRow>>> = {
  project: {
    text: `
      select p.id, 'enabled' as access_level, ${REPOSITORY}
      from projects p left join repositories r on r.wiki_project_id = p.id where p.id = any($1::bigint[])`,
    keys: bigints,
    key: (row) => row.id,
  },
  group: {
    text: `
      select n.id, coalesce(n.preferences->>'wiki_access_level', 'enabled') as access_level, ${REPOSITORY}
      from namespaces n left join repositories r on r.wiki_group_id = n.id where n.id = any($1::bigint[])`,
    keys: bigints,
    key: (row) => row.id,
  },
};

/** The wiki of a project or group that the caller sees. */
export async function wikiOf(db: Databases, container: WikiContainer): Promise<WikiSeen> {
  const { id } = container.seen;
  const row = await db.point.load(LOOKUPS[container.kind], id);
  if (!row) return { container, access_level: "disabled", repository: undefined };
  const { access_level, repository_id, ...location } = row;
  const repository = repository_id === null ? undefined : { ...location, repository_id, default_branch: ONLY_BRANCH };
  return { container, access_level, repository };
}

/** Finds the wiki of a container if the principal sees that; keys open no wikis. */
export async function wikiSeenBy(db: Databases, principal: Principal, kind: WikiContainer["kind"], id: number) {
  if (!isUserOrAnonymous(principal)) return undefined;
  const actor = actorOf(principal);
  if (kind === "project") {
    const seen = await visibleProject(db, actor, id);
    return seen && wikiOf(db, { kind, seen });
  }
  const seen = await visibleGroup(db, actor, id);
  return seen && wikiOf(db, { kind, seen });
}

/** Whether a caller who sees the container may read its wiki. */
export function mayRead(actor: Actor | null, { container, access_level }: WikiSeen): boolean {
  const { kind, seen } = container;
  if (kind === "project") return mayUse(actor, seen, "wiki");
  if (access_level === "disabled") return false;
  return (access_level === "enabled" && openTo(actor, seen.visibility)) || hasRole(actor, seen, "guest");
}

const WRITER: Role = "developer";

/** Why a caller who sees the container may not use its wiki, or undefined. */
export function wikiProblem(actor: Actor | null, wiki: WikiSeen, need: "read" | "write"): string | undefined {
  const { kind, seen } = wiki.container;
  if (wiki.access_level === "disabled" || (kind === "project" && seen.wiki_access_level === "disabled")) {
    return `The wiki of this ${kind} is switched off`;
  }
  if (!mayRead(actor, wiki)) return `You are not allowed to read the wiki of this ${kind}`;
  if (need === "read") return undefined;
  if (!hasRole(actor, seen, WRITER)) return `You are not allowed to change the wiki of this ${kind}`;
  if (seen.marked_for_deletion_at !== null) return `The ${kind} is marked for deletion`;
  return seen.archived ? `The ${kind} is archived` : undefined;
}
