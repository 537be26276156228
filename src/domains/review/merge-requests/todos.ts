import { sql } from "kysely";
import { inProjects, PROJECT, type TodoKind } from "#domains/attention/todos/kinds.ts";
import { MergeRequest } from "./entity.ts";
import { MERGE_REQUESTS } from "./resource.ts";
import { mergeRequests } from "./queries.ts";
import { mergeRequestViews } from "./views.ts";

export const MERGE_REQUEST_TODOS: TodoKind = {
  items: MERGE_REQUESTS,
  entity: MergeRequest,
  async targets(db, ids, viewer) {
    const rows = await mergeRequests(db)
      .innerJoin("projects as p", "p.id", "mr.project_id")
      .innerJoin("namespaces as n", "n.id", "p.namespace_id")
      .select(PROJECT)
      .where("mr.id", "=", sql<number>`any(${ids}::bigint[])`)
      .execute();
    return inProjects(rows, await mergeRequestViews(db, rows, viewer));
  },
};
