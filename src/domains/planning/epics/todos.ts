import { sql } from "kysely";
import { namespacesByIds } from "#domains/foundation/namespaces/queries.ts";
import { presentNamespace } from "#domains/organization/namespaces/entity.ts";
import type { TodoKind } from "#domains/attention/todos/kinds.ts";
import { Epic } from "./entity.ts";
import { epics } from "./queries.ts";
import { EPICS_BY_IID } from "./resource.ts";
import { epicViews } from "./views.ts";

export const EPIC_TODOS: TodoKind = {
  items: EPICS_BY_IID,
  alias: `${EPICS_BY_IID.path}/todos`,
  entity: Epic,
  async targets(db, ids, viewer) {
    const found = await epics(db)
      .where("e.id", "=", sql<number>`any(${ids}::bigint[])`)
      .execute();
    const rows = await namespacesByIds(db, [...new Set(found.map(({ group_id }) => group_id))]);
    const groups = new Map(rows.map((row) => [row.id, presentNamespace(viewer.site)(row)]));
    const views = await epicViews(db, found, { ...viewer, groups: rows });
    return views.flatMap((target) => {
      const group = groups.get(target.group_id);
      return group ? { target, group } : [];
    });
  },
};
