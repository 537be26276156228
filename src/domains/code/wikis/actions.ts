import type { Databases } from "#db/database.ts";
import { type Action, checkActions } from "#git/writing/plan.ts";
import { badRequest, missing } from "#lib/refusal.ts";
import { commitTo } from "#domains/code/commits/actions.ts";
import { authorizeWriteTo, type RepositoryWriteRequest } from "#domains/code/repository/writing.ts";
import type { PushAccess } from "#domains/storage/pushes/access.ts";
import { ONLY_BRANCH } from "#domains/storage/repositories/location.ts";
import { type WikiContainer, wikiOf, type WikiSeen } from "./access.ts";
import { ENCODING, type WikiPage } from "./entity.ts";
import { type Format, pageFile, pathFor, slugOf } from "./formats.ts";
import { contentOf, findPage, requirePage } from "./pages.ts";
import type { NewPage, PageChanges } from "./params.ts";
import { addWiki, ofWiki } from "./repository.ts";

type Write = RepositoryWriteRequest & { readonly databases: Databases };

const TAKEN = "A page with that title already exists";

/** Opens a wiki to write to it. */
async function openForWriting(wiki: WikiSeen, write: RepositoryWriteRequest): Promise<PushAccess> {
  const owned = ofWiki(wiki);
  if (!owned) throw missing("Wiki page");
  return authorizeWriteTo(owned, write);
}

/** Adds a page, and the repository with the first one. */
export async function createPage(container: WikiContainer, write: Write, params: NewPage): Promise<WikiPage> {
  const { title, content } = params;
  const slug = slugOf(title);
  const format = (params.format ?? "markdown") as Format;
  const path = pathFor(slug, format);
  const action: Action = { action: "create", path, content: Buffer.from(content), executable: false };
  checkActions([action]);
  await write.databases.transaction((tx) => addWiki(tx, write.services, container));
  const access = await openForWriting(await wikiOf(write.services.db, container), write);
  if (await findPage(access.repository, slug)) throw badRequest(TAKEN);
  await commitPage(access, write, `Create page: ${title}`, [action]);
  return pageAt(path, content);
}

/** Changes the content, the title or the format of a page. */
export async function changePage(wiki: WikiSeen, write: Write, params: PageChanges): Promise<WikiPage> {
  const access = await openForWriting(wiki, write);
  const { repository } = access;
  const page = await requirePage(repository, params.slug);
  const slug = params.title === undefined ? page.slug : slugOf(params.title);
  const format = (params.format ?? page.format) as Format;
  if (slug !== page.slug && (await findPage(repository, slug))) throw badRequest(TAKEN);
  const stays = slug === page.slug && format === page.format;
  const path = stays ? page.path : pathFor(slug, format);
  const content = params.content ?? (await contentOf(repository, page));
  const bytes = Buffer.from(content);
  const action: Action = stays
    ? { action: "update", path, content: bytes }
    : { action: "move", path, from: page.path, content: bytes };
  checkActions([action]);
  await commitPage(access, write, `Update page: ${page.title}`, [action]);
  return pageAt(path, content);
}

export async function deletePage(wiki: WikiSeen, write: Write, slug: string) {
  const access = await openForWriting(wiki, write);
  const { path, title } = await requirePage(access.repository, slug);
  await commitPage(access, write, `Delete page: ${title}`, [{ action: "delete", path }]);
}

function pageAt(path: string, content: string): WikiPage {
  const { slug, title, format } = pageFile(path)!;
  return { format, slug, title, content, encoding: ENCODING };
}

const commitPage = (access: PushAccess, write: RepositoryWriteRequest, message: string, actions: readonly Action[]) =>
  commitTo(access, write, {
    branch: ONLY_BRANCH,
    start: undefined,
    force: false,
    message,
    author: {},
    actions,
    unchanged: [],
  });
