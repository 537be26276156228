import { administrator } from "#access/access.ts";
import { Id } from "#http/params/vocabulary.ts";
import { movable } from "#domains/storage/moves/endpoints.ts";
import { requireSnippet } from "./access.ts";
import { presentSnippetIdentity, SnippetIdentity } from "./entity.ts";
import { snippets } from "./queries.ts";
import { snippetTarget } from "./repository.ts";
import { addressesFor } from "./views.ts";

/** The repositories of snippets, for administrators who move them between storages. */
export const SNIPPET_MOVES = movable({
  owner: "snippet",
  many: "snippets",
  all: "/snippet_repository_storage_moves",
  path: "/snippets/:id",
  id: Id,
  type: "Snippet",
  shown: SnippetIdentity,
  access: administrator(),
  async ownerIn({ actor, params, services }) {
    const snippet = await requireSnippet(services.db, { actor }, params.id);
    return { ...snippet, name: snippet.title, entity: snippetTarget(snippet).entity };
  },
  async show(db, rows, viewer) {
    const ids = rows.flatMap(({ snippet_id }) => snippet_id ?? []);
    const found = ids.length === 0 ? [] : await snippets(db).where("s.id", "in", ids).execute();
    const addresses = addressesFor(viewer);
    const shown = new Map(found.map((row) => [row.id, presentSnippetIdentity(row, addresses)]));
    return ({ snippet_id }) => shown.get(snippet_id ?? 0);
  },
});
