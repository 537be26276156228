import { type Actor, isAdministrator } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { missing } from "#lib/refusal.ts";
import { usersById } from "#domains/identity/users/summaries.ts";
import { sshAddress } from "#domains/organization/projects/ssh-address.ts";
import type { Services } from "#services.ts";
import { presentSnippet, type Snippet } from "./entity.ts";
import { type SnippetRow, snippets } from "./queries.ts";

/** Who looks at snippets. */
export interface Viewer {
  readonly actor: Actor | null;
  readonly site: string;
  readonly services: Pick<Services, "config">;
}

export const addressesFor = ({ site, services }: Omit<Viewer, "actor">) => ({
  site,
  ssh: sshAddress(services.config, site),
});

/** Presents snippets in the order of the rows with a constant number of statements. */
export async function snippetViews(db: Db, rows: readonly SnippetRow[], viewer: Viewer): Promise<Snippet[]> {
  const authors = rows.map(({ author_id }) => author_id);
  const users = await usersById(db, authors, viewer.site);
  const addresses = addressesFor(viewer);
  return rows.map((row) => presentSnippet(row, users, addresses, isAdministrator(viewer.actor)));
}

export async function snippetView(db: Db, id: number, viewer: Viewer): Promise<Snippet> {
  const row = await snippets(db).where("s.id", "=", id).executeTakeFirst();
  if (!row) throw missing("Snippet");
  const [view] = await snippetViews(db, [row], viewer);
  return view!;
}
