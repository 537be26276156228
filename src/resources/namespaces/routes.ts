import { signedIn } from "#access/access.ts";
import { type Actor, isAdministrator } from "#access/actor.ts";
import { visibleGroup } from "#access/containers.ts";
import { LEVELS } from "#access/roles.ts";
import type { Databases, Db } from "#db/database.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { missing } from "#lib/refusal.ts";
import { inNamespace } from "./access.ts";
import { Namespace, PathTaken, presentNamespace } from "./entity.ts";
import { pagesOf, wantedNamespaces } from "./list.ts";
import { NamespaceFilters, NamespaceId, WantedPath } from "./params.ts";
import { freePathLike, isTaken, namespaces as allNamespaces, namespacesByIds } from "./queries.ts";

export const namespaces = {
  list: endpoint({
    method: "GET",
    path: "/namespaces",
    summary: "List the namespaces that the caller can use",
    access: signedIn(),
    params: NamespaceFilters,
    returns: pageOf(Namespace, { id: "n.id" }),
    handle: async ({ db, actor, params, page, site }) =>
      page(allNamespaces(db), presentNamespace(site), await pagesOf(db, wantedNamespaces(actor, params))),
  }),

  get: endpoint({
    method: "GET",
    path: "/namespaces/:id",
    summary: "Get a namespace",
    access: inNamespace(),
    params: NamespaceId,
    returns: Namespace,
    async handle({ db, namespaceId, site }) {
      const [row] = await namespacesByIds(db, [namespaceId]);
      if (!row) throw missing("Namespace");
      return presentNamespace(site)(row);
    },
  }),

  exists: endpoint({
    method: "GET",
    path: "/namespaces/:id/exists",
    summary: "Find out whether a path is taken",
    access: signedIn(),
    params: WantedPath,
    returns: PathTaken,
    async handle({ db, databases, actor, params }) {
      const parentId = params.parent_id ?? 0;
      if (parentId !== 0 && !(await belongsTo(databases, actor, parentId))) return { exists: false, suggests: [] };
      return takenAt(db, parentId, params.id);
    },
  }),
};

/** What a group holds is told only to those who belong to it: the rest of it may be hidden from others. */
async function belongsTo(databases: Databases, actor: Actor, groupId: number): Promise<boolean> {
  const group = await visibleGroup(databases, actor, groupId);
  return group !== undefined && (isAdministrator(actor) || group.level >= LEVELS.guest);
}

async function takenAt(db: Db, parentId: number, path: string) {
  if (!(await isTaken(db, parentId, path))) return { exists: false, suggests: [] };
  const free = await freePathLike(db, parentId, path);
  return { exists: true, suggests: free === undefined ? [] : [free] };
}
