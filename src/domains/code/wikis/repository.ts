import { hasRole } from "#access/containers.ts";
import { actorOf } from "#access/principal.ts";
import type { Tx } from "#db/database.ts";
import { wikiRepository } from "#git/storages/storage.ts";
import type { AuditTarget } from "#http/endpoint.ts";
import { forbidden } from "#lib/refusal.ts";
import type { Owned, OwnerKind, RepositoryOwner } from "#domains/storage/pushes/access.ts";
import { onlyBranchProblem } from "#domains/storage/pushes/rules.ts";
import { addWikiRepository } from "#domains/storage/repositories/create.ts";
import { storageLeft } from "#domains/storage/repositories/quota.ts";
import { readOnly } from "#domains/storage/repositories/read-only.ts";
import { drawStorage, storageNames } from "#domains/storage/storages/weights.ts";
import type { Services } from "#services.ts";
import { type WikiContainer, wikiProblem, type WikiSeen, wikiSeenBy } from "./access.ts";

const TYPES = { project: "Project", group: "Group" } as const;

/** The project or group as the audit target of a write to its wiki. */
export function wikiTarget({ kind, seen: { id, name } }: WikiContainer): AuditTarget {
  const type = TYPES[kind];
  return { type, id, name, entity: { type, id } };
}

/** A wiki with a repository. */
interface WikiOwner extends RepositoryOwner {
  readonly wiki: WikiSeen;
  readonly read_only: boolean;
}

const ownerOf = (wiki: WikiSeen | undefined): WikiOwner | undefined => wiki?.repository && { ...wiki.repository, wiki };

/** The wikis of projects or groups, as what repositories belong to. */
const wikisOf = (kind: WikiContainer["kind"]): OwnerKind<WikiOwner> => ({
  type: TYPES[kind],
  logged: `${kind}_id`,
  find: async (db, principal, id) => ownerOf(await wikiSeenBy(db, principal, kind, id)),
  async refuse(_db, principal, { wiki, read_only }, need) {
    const problem = wikiProblem(actorOf(principal), wiki, need === "read" ? "read" : "write");
    if (problem !== undefined) throw forbidden(problem);
    if (read_only && need === "push") throw readOnly();
  },
  maxInputBytes: (services, { id }) => storageLeft(services, kind === "project" ? "projects" : "namespaces", id),
  mayRewrite: (principal, { wiki }) => hasRole(actorOf(principal), wiki.container.seen, "maintainer"),
  problemOf: onlyBranchProblem("wiki"),
  auditTarget: ({ wiki }) => wikiTarget(wiki.container),
});

const KINDS = { project: wikisOf("project"), group: wikisOf("group") };

/** The wiki as what its repository belongs to; undefined if it has no page yet. */
export function ofWiki(wiki: WikiSeen): Owned | undefined {
  const owner = ownerOf(wiki);
  return owner && { kind: KINDS[wiki.container.kind], owner };
}

/** Adds the repository of a wiki unless there is one, where its project is or on a storage by weight. */
export async function addWiki(tx: Tx, services: Services, { kind, seen }: WikiContainer): Promise<number> {
  const storage =
    kind === "project"
      ? seen.repository_storage
      : drawStorage(await services.settings.current(), storageNames(services.git));
  const row = kind === "project" ? { wiki_project_id: seen.id } : { wiki_group_id: seen.id };
  return addWikiRepository(tx, services.jobs, row, storage, wikiRepository(kind, seen.id));
}
