import { sql } from "kysely";
import { inProjects, PROJECT, type TodoKind } from "#domains/attention/todos/kinds.ts";
import { Issue } from "./entity.ts";
import { issues } from "./queries.ts";
import { ISSUES } from "./resource.ts";
import { issueViews } from "./views.ts";

export const ISSUE_TODOS: TodoKind = {
  items: ISSUES,
  entity: Issue,
  async targets(db, ids, viewer) {
    const rows = await issues(db)
      .innerJoin("projects as p", "p.id", "i.project_id")
      .innerJoin("namespaces as n", "n.id", "p.namespace_id")
      .select(PROJECT)
      .where("i.id", "=", sql<number>`any(${ids}::bigint[])`)
      .execute();
    return inProjects(rows, await issueViews(db, rows, viewer));
  },
};
