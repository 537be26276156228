import { signedIn } from "#access/access.ts";
import { type Actor, isAdministrator } from "#access/principal.ts";
import { visibleGroup } from "#access/containers.ts";
import { LEVELS } from "#access/roles.ts";
import type { Databases, Db } from "#db/database.ts";
import { endpoint } from "#http/endpoint.ts";
import { isNumericId } from "#http/paths.ts";
import { pageOf } from "#http/paging.ts";
import { missing } from "#lib/refusal.ts";
import { inNamespace } from "./access.ts";
import { Namespace, PathTaken, presentNamespace } from "./entity.ts";
import { listNamespaces } from "./list.ts";
import { NamespaceFilters, NamespaceId, PathQuery } from "./params.ts";
import {
  freePathLike,
  isTaken,
  namespaces as allNamespaces,
  namespacesByIds,
} from "#domains/foundation/namespaces/queries.ts";

export const namespaces = {
  list: endpoint({
    method: "GET",
    path: "/namespaces",
    summary: "List the namespaces that the caller can use",
    access: signedIn(),
    params: NamespaceFilters,
    returns: pageOf(Namespace, { id: "n.id" }),
    handle: ({ db, actor, params, page, site }) =>
      page(allNamespaces(db), presentNamespace(site), listNamespaces(actor, params)),
  }),

  get: endpoint({
    method: "GET",
    path: "/namespaces/:id",
    formatSuffixAfter: isNumericId,
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
    params: PathQuery,
    returns: PathTaken,
    async handle({ db, databases, actor, params }) {
      const parentId = params.parent_id ?? 0;
      if (parentId !== 0 && !(await belongsTo(databases, actor, parentId))) return { exists: false, suggests: [] };
      return takenAt(db, parentId, params.id);
    },
  }),
};

/** Only members learn which paths are taken in a group, since others may not see everything in it. */
async function belongsTo(databases: Databases, actor: Actor, groupId: number): Promise<boolean> {
  const group = await visibleGroup(databases, actor, groupId);
  return group !== undefined && (isAdministrator(actor) || group.level >= LEVELS.guest);
}

async function takenAt(db: Db, parentId: number, path: string) {
  if (!(await isTaken(db, parentId, path))) return { exists: false, suggests: [] };
  const free = await freePathLike(db, parentId, path);
  return { exists: true, suggests: free === undefined ? [] : [free] };
}
