import { sql } from "kysely";
import type { Contract, Fixture, FixtureContext, Name, Parent } from "#test/contract.ts";
import { FOUND, inGroup, inProject, line, READ, WRITE } from "#test/matrix/line.ts";
import { failedMoves, firstCommitOf, newRepositoryPath } from "#test/matrix/repositories.ts";
import { insert, word } from "#test/matrix/rows.ts";

/**
 * A page for each parent; those of one parent are in one wiki, whose repository is created on its first use. A wiki
 * that is there already stays.
 */
async function makePages({ db }: Pick<FixtureContext, "db">, parents: readonly Parent[]): Promise<string[]> {
  const now = new Date().toISOString();
  const pages = parents.map(({ kind, id }) => ({ kind, id, slug: word() }));
  const { rows: known } = await sql<{ name: string }>`
    select 'project ' || wiki_project_id as name from repositories where wiki_project_id is not null
    union all select 'group ' || wiki_group_id from repositories where wiki_group_id is not null`.execute(db);
  const taken = new Set(known.map(({ name }) => name));
  const rows = [...Map.groupBy(pages, ({ kind, id }) => `${kind} ${id}`)]
    .filter(([name]) => !taken.has(name))
    .map(([, [first, ...others]]) => ({
      wiki_project_id: first?.kind === "project" ? first.id : null,
      wiki_group_id: first?.kind === "group" ? first.id : null,
      ...{ storage: "default", disk_path: newRepositoryPath(), pushed_at: now, unpacked_pushes: 0, size_bytes: 0 },
      beginning: firstCommitOf([first, ...others].map((page) => `${page?.slug}.md`)),
    }));
  await insert(db, "repositories", rows);
  return pages.map(({ slug }) => slug);
}

/** A failed move of the wiki of each group, in the same order. */
async function movesOf(context: FixtureContext, groups: readonly number[]): Promise<number[]> {
  await makePages(
    context,
    groups.map((id) => ({ kind: "group", id, name: "" })),
  );
  return failedMoves(context.db, "group_id", groups);
}

const fixture = (
  kind: "project" | "group",
  make: (c: FixtureContext, p: readonly Parent[]) => Promise<Name[]>,
): Fixture => ({
  parents: [kind],
  make,
});

const ARCHIVED = { archived: 403, "archived above": 403 } as const;
const CLOSED = { ...ARCHIVED, "marked for deletion": 403 } as const;
const PAGE = "title=*&content=x";

export const contract: Contract = {
  lines: {
    "GET /projects/:id/wikis": inProject("viewer", 200, READ, { holds: "page of a project" }),
    "POST /projects/:id/wikis": inProject("developer", 201, WRITE, { answers: CLOSED, send: PAGE }),
    "GET /projects/:id/wikis/:slug": inProject("viewer", 200, READ, { child: "page of a project" }),
    "PUT /projects/:id/wikis/:slug": inProject("developer", 200, WRITE, {
      ...{ child: "page of a project", answers: CLOSED, send: "content=*" },
    }),
    "DELETE /projects/:id/wikis/:slug": inProject("developer", 204, WRITE, {
      child: "page of a project",
      answers: CLOSED,
    }),
    "GET /groups/:id/wikis": inGroup("viewer", 200, READ, { inner: true, holds: "page of a group" }),
    "POST /groups/:id/wikis": inGroup("developer", 201, WRITE, { answers: CLOSED, send: PAGE }),
    "GET /groups/:id/wikis/:slug": inGroup("viewer", 200, READ, { inner: true, child: "page of a group" }),
    "PUT /groups/:id/wikis/:slug": inGroup("developer", 200, WRITE, {
      ...{ child: "page of a group", answers: CLOSED, send: "content=*" },
    }),
    "DELETE /groups/:id/wikis/:slug": inGroup("developer", 204, WRITE, { child: "page of a group", answers: CLOSED }),
    "GET /group_repository_storage_moves": line(401, 403, 200, READ),
    "GET /group_repository_storage_moves/:repository_storage_id": line(401, 403, FOUND, READ, {
      object: "move of a wiki",
    }),
    "POST /group_repository_storage_moves": line(401, 403, 202, WRITE, {
      entity: "Instance",
      send: "source_storage_name=second&destination_storage_name=default",
    }),
    "GET /groups/:id/repository_storage_moves": inGroup("administrator", 200, READ, {
      holds: "storage move of a group",
    }),
    "GET /groups/:id/repository_storage_moves/:repository_storage_id": inGroup("administrator", 200, READ, {
      child: "storage move of a group",
    }),
    "POST /groups/:id/repository_storage_moves": inGroup("administrator", 201, WRITE, {
      send: "destination_storage_name=second",
    }),
  },
  unrepeatable: { "POST /group_repository_storage_moves": "a job schedules the moves" },
  fixtures: {
    "page of a project": fixture("project", makePages),
    "page of a group": fixture("group", makePages),
    "storage move of a group": fixture("group", (context, parents) =>
      movesOf(
        context,
        parents.map(({ id }) => id),
      ),
    ),
    "move of a wiki": {
      parents: ["user"],
      async make(context, parents) {
        const group = await context.group("whose wiki moves");
        return movesOf(
          context,
          parents.map(() => group),
        );
      },
    },
  },
};
