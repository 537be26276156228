import type { Static } from "typebox";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { missing } from "#lib/refusal.ts";
import { projects } from "#domains/organization/projects/queries.ts";
import { projectSummaries } from "#domains/organization/projects/views.ts";
import { usersById } from "#domains/identity/users/summaries.ts";
import type { Services } from "#services.ts";
import { type Cluster, type ClusterWithProject, presentCluster } from "./entity.ts";
import { type ClusterRow, managementProjects } from "./queries.ts";

interface Viewer {
  readonly actor: Actor;
  readonly site: string;
  readonly services: Pick<Services, "config">;
}

/** Presents clusters in the order of the rows with a constant number of statements. */
export async function clusterViews(
  db: Db,
  rows: readonly ClusterRow[],
  { actor, site }: Viewer,
): Promise<Static<typeof Cluster>[]> {
  const userIds = rows.map(({ user_id }) => user_id);
  const users = await usersById(db, userIds, site);
  const managers = await managementProjects(db, actor, rows);
  return rows.map((row) =>
    presentCluster(row, {
      user: users.get(row.user_id),
      managementProject: managers.get(row.management_project_id ?? 0),
    }),
  );
}

/** Presents one cluster with its project. */
export async function clusterView(db: Db, row: ClusterRow, viewer: Viewer): Promise<Static<typeof ClusterWithProject>> {
  const [view] = await clusterViews(db, [row], viewer);
  const found = await projects(db).where("p.id", "=", row.project_id).execute();
  const [project] = await projectSummaries(db, found, viewer);
  if (!view || !project) throw missing("Project");
  return { ...view, project };
}
