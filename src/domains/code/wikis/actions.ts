import type { Databases } from "#db/database.ts";
import { type Action, checkActions } from "#git/writing/plan.ts";
import { badFields, badRequest, missing } from "#lib/refusal.ts";
import { commitToOnlyBranch } from "#domains/code/commits/actions.ts";
import { authorizeWriteTo, type RepositoryWriteRequest } from "#domains/code/repository/writing.ts";
import type { PushAccess } from "#domains/storage/pushes/access.ts";
import { wikiOf, type WikiSeen } from "./access.ts";
import { presentPage, type WikiPage } from "./entity.ts";
import { type Format, type PageFile, pageFile, pathFor, slugOf } from "./formats.ts";
import { contentOf, findPage, requirePage } from "./pages.ts";
import type { NewPage, PageChanges } from "./params.ts";
import { addWiki, ofWiki } from "./repository.ts";

/** What a write to a wiki needs from its request. */
interface Write extends RepositoryWriteRequest {
  readonly databases: Databases;
  reserveMemory(bytes: number): void;
}

const TAKEN = "A page with that title already exists";

/** Opens a wiki to write to it. */
async function openForWriting(wiki: WikiSeen, write: RepositoryWriteRequest): Promise<PushAccess> {
  const owned = ofWiki(wiki);
  if (!owned) throw missing("Wiki page");
  return authorizeWriteTo(owned, write);
}

/** The page that a title and a format name. */
function namedPage(title: string, format: Format): PageFile {
  const page = pageFile(pathFor(slugOf(title), format));
  if (!page) throw badFields({ title: ["is not the name of a page"] });
  return page;
}

/** Adds a page, and the repository with the first one. */
export async function createPage(wiki: WikiSeen, write: Write, params: NewPage): Promise<WikiPage> {
  const { title, content } = params;
  const page = namedPage(title, (params.format ?? "markdown") as Format);
  const action: Action = { action: "create", path: page.path, content: Buffer.from(content), executable: false };
  checkActions([action]);
  const access = await openForWriting(wiki.repository ? wiki : await begin(wiki, write), write);
  if (await findPage(access.repository, page.slug)) throw badRequest(TAKEN);
  await commitToOnlyBranch(access, write, `Create page: ${title}`, [action]);
  return presentPage(page, content);
}

/** Adds the repository of a wiki that has no page yet. */
async function begin({ container }: WikiSeen, { databases, services }: Write): Promise<WikiSeen> {
  await databases.transaction((tx) => addWiki(tx, services, container));
  return wikiOf(databases, container);
}

/** Changes the content, the title or the format of a page. */
export async function changePage(wiki: WikiSeen, write: Write, params: PageChanges): Promise<WikiPage> {
  const access = await openForWriting(wiki, write);
  const { repository } = access;
  const before = await requirePage(repository, params.slug);
  const format = (params.format ?? before.format) as Format;
  const isMoved = params.title !== undefined && slugOf(params.title) !== before.slug;
  if (isMoved && (await findPage(repository, slugOf(params.title ?? "")))) throw badRequest(TAKEN);
  const after = isMoved || format !== before.format ? namedPage(params.title ?? before.slug, format) : before;
  const actions = changesOf(before.path, after.path, params.content);
  checkActions(actions);
  const content = params.content ?? (await contentOf(repository, before, write)).toString();
  if (actions.length > 0) await commitToOnlyBranch(access, write, `Update page: ${before.title}`, actions);
  return presentPage(after, content);
}

/** A page that only moves keeps its bytes, whatever they are. */
function changesOf(from: string, path: string, text: string | undefined): Action[] {
  const content = text === undefined ? undefined : Buffer.from(text);
  if (path !== from) return [{ action: "move", path, from, ...(content && { content }) }];
  return content ? [{ action: "update", path, content }] : [];
}

export async function deletePage(wiki: WikiSeen, write: Write, slug: string) {
  const access = await openForWriting(wiki, write);
  const { path, title } = await requirePage(access.repository, slug);
  await commitToOnlyBranch(access, write, `Delete page: ${title}`, [{ action: "delete", path }]);
}
