import { sql } from "kysely";
import { type Actor, isAdministrator } from "#access/principal.ts";
import { live } from "#access/levels.ts";
import { LEVELS } from "#access/roles.ts";
import { visibleTo } from "#access/visible.ts";
import type { Db } from "#db/database.ts";
import { missing } from "#lib/refusal.ts";
import { listedProjects } from "#domains/organization/projects/queries.ts";
import { viewProjects } from "#domains/organization/projects/views.ts";
import { presentShare } from "#domains/organization/shares/entity.ts";
import { sharesOf } from "#domains/organization/shares/queries.ts";
import type { Services } from "#services.ts";
import { type GroupDetail, presentGroup } from "./entity.ts";
import { groups } from "./queries.ts";

/** The caller who sees a group, and their level in it. */
export interface Viewer {
  readonly actor: Actor | null;
  readonly level: number;
  readonly site: string;
}

/** A group with its shares and, if `services` is given, its projects. */
export async function viewGroup(
  db: Db,
  id: number,
  viewer: Viewer,
  services?: Pick<Services, "config">,
): Promise<GroupDetail> {
  const row = await groups(db).where("n.id", "=", id).where("n.kind", "=", "group").executeTakeFirst();
  if (!row) throw missing("Group");
  const shares = await sharesOf(db, viewer.actor, "group", [id]);
  return {
    ...presentGroup(viewer.site)(row),
    shared_with_groups: shares.map(presentShare),
    ...(services && (await projectsOf(db, id, { ...viewer, services }))),
  };
}

/** The newest projects in a group, and the newest of those shared with it. */
async function projectsOf(db: Db, id: number, viewer: Viewer & { readonly services: Pick<Services, "config"> }) {
  // Members of a group see every project in it.
  const insider = isAdministrator(viewer.actor) || viewer.level >= LEVELS.guest;
  const own = sql<boolean>`p.namespace_id = ${id} and ${insider ? sql`true` : visibleTo(viewer.actor)}`;
  const shared = sql<boolean>`p.id in (
    select s.project_id from shares s
    where s.with_group_id = ${id} and s.project_id is not null and ${sql.raw(live("s"))}
  ) and ${visibleTo(viewer.actor)}`;
  const newest = async (condition: typeof own) =>
    viewProjects(
      db,
      await listedProjects(db).where(condition).orderBy("p.id", "desc").limit(sql.lit(100)).execute(),
      viewer,
    );
  return { projects: await newest(own), shared_projects: await newest(shared) };
}
