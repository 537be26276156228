import { resolveProject } from "#access/paths.ts";
import type { Db } from "#db/database.ts";
import { missing } from "#lib/refusal.ts";
import type { Movable } from "#domains/storage/moves/endpoints.ts";
import { ProjectIdentity, projectIdentities } from "./identity.ts";

/** The repositories of projects, for administrators who move them between storages. */
export const PROJECT_MOVES: Movable = {
  owner: "project",
  many: "projects",
  all: "/project_repository_storage_moves",
  path: "/projects/:id",
  type: "Project",
  shown: ProjectIdentity,
  async find(db, name) {
    const { id } = await resolveProject(db, name);
    const project = await db.write
      .selectFrom("projects as p")
      .innerJoin("repositories as r", "r.project_id", "p.id")
      .select(["p.id", "p.name", "r.id as repository_id"])
      .where("p.id", "=", id)
      .executeTakeFirst();
    if (!project) throw missing("Project");
    return project;
  },
  async show(db, rows) {
    const identities = await identitiesOf(
      db,
      rows.flatMap(({ project_id }) => project_id ?? []),
    );
    return ({ project_id }) => identities.get(project_id ?? 0);
  },
};

async function identitiesOf(db: Db, ids: readonly number[]) {
  if (ids.length === 0) return new Map<number, ProjectIdentity>();
  const projects = await db
    .selectFrom("projects")
    .select(["id", "namespace_id", "description", "name", "path", "created_at"])
    .where("id", "in", [...new Set(ids)])
    .execute();
  return projectIdentities(db, projects);
}
