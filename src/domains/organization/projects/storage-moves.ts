import { forAdministrators, inProject } from "#access/containers.ts";
import type { Db } from "#db/database.ts";
import { movable } from "#domains/storage/moves/endpoints.ts";
import { ProjectId } from "./params.ts";
import { ProjectIdentity, projectIdentities } from "./identity.ts";

/** The repositories of projects, for administrators who move them between storages. */
export const PROJECT_MOVES = movable({
  owner: "project",
  many: "projects",
  all: "/project_repository_storage_moves",
  path: "/projects/:id",
  id: ProjectId.properties.id,
  type: "Project",
  shown: ProjectIdentity,
  access: forAdministrators(inProject("viewer", { signedIn: true })),
  ownerIn: ({ project }) => ({ ...project, entity: { type: "Project", id: project.id } }),
  async show(db, rows) {
    const identities = await identitiesOf(
      db,
      rows.flatMap(({ project_id }) => project_id ?? []),
    );
    return ({ project_id }) => identities.get(project_id ?? 0);
  },
});

async function identitiesOf(db: Db, ids: readonly number[]) {
  if (ids.length === 0) return new Map<number, ProjectIdentity>();
  const projects = await db
    .selectFrom("projects")
    .select(["id", "namespace_id", "description", "name", "path", "created_at"])
    .where("id", "in", [...new Set(ids)])
    .execute();
  return projectIdentities(db, projects);
}
