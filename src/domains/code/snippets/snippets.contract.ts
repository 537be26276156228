import type { Contract, FixtureContext, Parent } from "#test/contract.ts";
import { FOUND, inProject, line, ONLY_OWN, OWN_GONE, GONE, READ, WRITE } from "#test/matrix/line.ts";
import { failedMoves, firstCommitOf, newRepositoryPath } from "#test/matrix/repositories.ts";
import { insert, insertForIds, word } from "#test/matrix/rows.ts";
import { any } from "#test/plans/request.ts";

const HIDDEN = [404, 404, 404] as const;
const PRIVATE = 0;
const PUBLIC = 20;

interface SnippetColumns {
  readonly project_id: number | null;
  readonly author_id: number | null;
  readonly visibility: number;
  readonly file: string;
}

const FILE = "a.md";

/** Snippets with a repository that is created on its first use. */
async function makeSnippets({ db }: Pick<FixtureContext, "db">, rows: readonly SnippetColumns[]): Promise<number[]> {
  const now = new Date().toISOString();
  const titled = rows.map(({ file: _, ...row }) => ({ ...row, title: word(), created_at: now, updated_at: now }));
  const ids = await insertForIds(db, "snippets", titled, "title");
  const repositories = ids.map((snippet_id, at) => ({
    ...{ snippet_id, storage: "default", disk_path: newRepositoryPath(), file_names: [rows[at]?.file] },
    ...{ beginning: firstCommitOf([rows[at]?.file ?? FILE]), pushed_at: now, unpacked_pushes: 0, size_bytes: 0 },
  }));
  await insert(db, "repositories", repositories);
  return ids;
}

/** A private snippet of each user, and a public one for the list of those. */
async function ofUsers(context: FixtureContext, parents: readonly Parent[]): Promise<number[]> {
  const written = (visibility: number) =>
    parents.map(({ id }) => ({ project_id: null, author_id: id, visibility, file: FILE }));
  const ids = await makeSnippets(context, written(PRIVATE));
  await makeSnippets(context, written(PUBLIC));
  return ids;
}

const ofProjects = async ({ person }: FixtureContext, parents: readonly Parent[]) => {
  const author_id = await person("who writes snippets");
  return parents.map(({ id }) => ({ project_id: id, author_id, visibility: PUBLIC, file: `${word()}.md` }));
};

/** A public snippet with moves. */
const movedSnippet = (context: FixtureContext) =>
  context.once("moved snippet", async () => {
    const author_id = await context.person("who writes snippets");
    const [id = 0] = await makeSnippets(context, [{ project_id: null, author_id, visibility: PUBLIC, file: FILE }]);
    return id;
  });

const ONE = "/projects/:id/snippets/:snippet_id";
const ARCHIVED = { archived: 403, "archived above": 403 } as const;
const OWN = { object: "snippet" } as const;
const CHILD = { child: "project snippet" } as const;
const EDITED = { signedIn: true, requestRole: "maintainer", answers: ARCHIVED } as const;
const CONTENT = "title=*&file_name=a.md&content=x";

export const contract: Contract = {
  lines: {
    "GET /snippets": line(401, 200, 200, READ),
    "GET /snippets/public": line(200, 200, 200, READ),
    "GET /snippets/all": line(401, 200, 200, READ),
    "POST /snippets": line(401, 201, 201, WRITE, { send: CONTENT, external: 403 }),
    "GET /snippets/:id": line(HIDDEN, ONLY_OWN, FOUND, READ, OWN),
    "GET /snippets/:id/raw": line(HIDDEN, ONLY_OWN, FOUND, READ, OWN),
    "GET /snippets/:id/files/:ref/:file_path/raw": line(HIDDEN, ONLY_OWN, FOUND, READ, {
      ...OWN,
      send: "ref=main&file_path=a.md",
    }),
    "PUT /snippets/:id": line(401, ONLY_OWN, FOUND, WRITE, { ...OWN, send: "title=*" }),
    "DELETE /snippets/:id": line(401, OWN_GONE, GONE, WRITE, OWN),
    "GET /snippet_repository_storage_moves": line(401, 403, 200, READ),
    "GET /snippet_repository_storage_moves/:repository_storage_id": line(401, 403, FOUND, READ, {
      object: "move of a snippet",
    }),
    "POST /snippet_repository_storage_moves": line(401, 403, 202, WRITE, {
      entity: "Instance",
      send: "source_storage_name=second&destination_storage_name=default",
    }),
    "GET /snippets/:id/repository_storage_moves": line(401, 403, FOUND, READ, { object: "snippet with moves" }),
    "GET /snippets/:id/repository_storage_moves/:repository_storage_id": line(401, 403, FOUND, READ, {
      object: "move of a snippet",
      by: "repository_storage_id",
      send: "id={moved_snippet}",
    }),
    "POST /snippets/:id/repository_storage_moves": line(401, 403, [201, 201, 404], WRITE, {
      ...OWN,
      send: "destination_storage_name=second",
    }),

    "GET /projects/:id/snippets": inProject("viewer", 200, READ, { holds: "project snippet" }),
    "POST /projects/:id/snippets": inProject("reporter", 201, WRITE, { answers: ARCHIVED, send: CONTENT }),
    [`GET ${ONE}`]: inProject("viewer", 200, READ, CHILD),
    [`GET ${ONE}/raw`]: inProject("viewer", 200, READ, CHILD),
    [`GET ${ONE}/files/:ref/:file_path/raw`]: inProject("viewer", 200, READ, { child: "file of a project snippet" }),
    [`PUT ${ONE}`]: inProject("viewer", 200, WRITE, { ...CHILD, ...EDITED, send: "title=*" }),
    [`DELETE ${ONE}`]: inProject("viewer", 204, WRITE, { ...CHILD, ...EDITED }),
  },
  tables: ["snippets"],
  differing: ["beginning"],
  unrepeatable: { "POST /snippet_repository_storage_moves": "a job schedules the moves" },
  values: { moved_snippet: async (context) => String(await movedSnippet(context)) },
  fixtures: {
    snippet: { parents: ["user"], make: ofUsers },
    "snippet with moves": {
      parents: ["user"],
      async make(context, parents) {
        const ids = await ofUsers(context, parents);
        await failedMoves(context.db, "snippet_id", Array.from({ length: 5 }, () => ids).flat());
        return ids;
      },
    },
    "project snippet": {
      parents: ["project"],
      make: async (context, parents) => makeSnippets(context, await ofProjects(context, parents)),
    },
    "file of a project snippet": {
      parents: ["project"],
      async make(context, parents) {
        const rows = await ofProjects(context, parents);
        return (await makeSnippets(context, rows)).map((id, at) => [id, "main", rows[at]?.file ?? ""]);
      },
    },
    "move of a snippet": {
      parents: ["user"],
      async make(context, parents) {
        const snippet = await movedSnippet(context);
        return failedMoves(
          context.db,
          "snippet_id",
          parents.map(() => snippet),
        );
      },
    },
  },
  plans: {
    sample: `
      select (select s.project_id from snippets s where s.project_id is not null order by id limit 1) as project,
        (select s.id from snippets s where s.project_id is null and s.visibility = 20 order by id limit 1) as snippet`,
    requests: ({ project, snippet }) => [
      ...(["anonymous", "user", "member of 5,000", "administrator"] as const).flatMap((caller) => [
        { caller, path: "/snippets/public" },
        { caller, path: "/snippets/public?page=50&per_page=100", ...any("") },
        { caller, path: `/snippets/${snippet}` },
        ...(caller === "anonymous"
          ? []
          : [
              { caller, path: "/snippets", ...any("") },
              { caller, path: "/snippets/all" },
              { caller, path: "/snippets/all?page=50&per_page=100", ...any("") },
              { caller, path: "/snippets/all?created_before=2020-06-01T00:00:00Z", ...any("") },
            ]),
      ]),
      { caller: "administrator", path: `/projects/${project}/snippets` },
      { caller: "administrator", path: "/snippet_repository_storage_moves", ...any("") },
      { caller: "administrator", path: `/snippets/${snippet}/repository_storage_moves`, ...any("") },
    ],
    indexes: () => ({ repositories_one_per_snippet: "/snippets/all" }),
  },
};
