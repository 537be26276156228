import type { Access } from "#access/access.ts";
import type { Actor } from "#access/principal.ts";
import type { Databases } from "#db/database.ts";
import { endpoint, type Plan } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { forbidden, missing } from "#lib/refusal.ts";
import { MAX_COMMIT_BODY_BYTES } from "#domains/code/commits/params.ts";
import { type AnswerBudget, answerBudget, fitRows } from "#domains/code/repository/answer-budget.ts";
import { repositoryOf } from "#domains/storage/repositories/location.ts";
import { mayRead, type WikiContainer, wikiOf, wikiProblem, type WikiSeen } from "./access.ts";
import { changePage, createPage, deletePage } from "./actions.ts";
import { ListedWikiPage, presentListedPage, presentPage, WikiPage } from "./entity.ts";
import { contentOf, contentReader, listPages, requirePage, type StoredPage } from "./pages.ts";
import { NewPage, PageChanges, PageFilters, PageOfVersion, PageSlug } from "./params.ts";

/** The wikis of projects or groups in the API, and who may read and write them. */
interface WikisOf<Seen extends object = object> {
  readonly word: WikiContainer["kind"];
  readonly path: "/projects/:id/wikis" | "/groups/:id/wikis";
  readonly plan?: Plan;
  readonly reader: Access<Seen & { readonly actor: Actor | null }>;
  readonly writer: Access<Seen & { readonly actor: Actor }>;
  container(seen: Seen): WikiContainer;
}

/** The compiler checks what a rule grants for each container by itself; the function makes the endpoints of either. */
export const wikiEndpoints = <Seen extends object>(of: WikisOf<Seen>) => {
  const either = of as unknown as WikisOf;
  return { ...reading(either), ...writing(either) };
};

const reading = ({ word, path, plan, reader, container }: WikisOf) => ({
  list: endpoint({
    ...(plan && { plan }),
    method: "GET",
    path,
    summary: `List the pages of the wiki of a ${word}`,
    access: reader,
    params: PageFilters,
    returns: pageOf(ListedWikiPage, { id: "path", type: "WikiPage", perPage: 100 }),
    async handle({ databases, page, params, services, consumer, setHeader, ...seen }) {
      const wiki = await readableWiki(databases, container(seen), seen.actor);
      if (!wiki?.repository) return [...(await page.slice(async () => ({ rows: [], more: false, total: 0 })))];
      const repository = await repositoryOf(services, wiki.repository, consumer);
      const budget = answerBudget(setHeader);
      const views = await page.slice(async (wanted) => {
        const { rows, ...slice } = await listPages(repository, wanted);
        const read = params.with_content ? contentReader(repository, seen) : undefined;
        return { ...slice, rows: await viewsOf(rows, budget, read) };
      });
      return [...views];
    },
  }),

  get: endpoint({
    ...(plan && { plan }),
    method: "GET",
    path: `${path}/:slug`,
    summary: `Get a page of the wiki of a ${word}`,
    access: reader,
    params: PageOfVersion,
    returns: WikiPage,
    async handle({ databases, params, services, consumer, ...seen }) {
      const wiki = await readableWiki(databases, container(seen), seen.actor);
      if (!wiki?.repository) throw missing("Wiki page");
      const repository = await repositoryOf(services, wiki.repository, consumer);
      const page = await requirePage(repository, params.slug, params.version);
      return presentPage(page, (await contentOf(repository, page, seen)).toString());
    },
  }),
});

const writing = ({ word, path, plan, writer, container }: WikisOf) => {
  const common = { ...(plan && { plan }), access: writer, transaction: "own" } as const;
  return {
    create: endpoint({
      ...common,
      method: "POST",
      path,
      summary: `Add a page to the wiki of a ${word}`,
      params: NewPage,
      returns: WikiPage,
      audit: "wiki_page_created",
      maxBodyBytes: MAX_COMMIT_BODY_BYTES,
      handle: async ({ params, ...write }) =>
        createPage(await writableWiki(write.databases, container(write), write.actor), write, params),
    }),

    update: endpoint({
      ...common,
      method: "PUT",
      path: `${path}/:slug`,
      summary: `Change a page of the wiki of a ${word}`,
      params: PageChanges,
      returns: WikiPage,
      audit: "wiki_page_updated",
      maxBodyBytes: MAX_COMMIT_BODY_BYTES,
      handle: async ({ params, ...write }) =>
        changePage(await writableWiki(write.databases, container(write), write.actor), write, params),
    }),

    delete: endpoint({
      ...common,
      method: "DELETE",
      path: `${path}/:slug`,
      summary: `Delete a page of the wiki of a ${word}`,
      params: PageSlug,
      audit: "wiki_page_deleted",
      handle: async ({ params, ...write }) =>
        deletePage(await writableWiki(write.databases, container(write), write.actor), write, params.slug),
    }),
  };
};

/** The wiki, or undefined to a caller who sees a group only because something below it is theirs. */
async function readableWiki(db: Databases, container: WikiContainer, actor: Actor | null) {
  const wiki = await wikiOf(db, container);
  if (mayRead(actor, wiki)) return wiki;
  if (wiki.access_level === "enabled") return undefined;
  throw forbidden(wikiProblem(actor, wiki, "read"));
}

async function writableWiki(db: Databases, container: WikiContainer, actor: Actor): Promise<WikiSeen> {
  const wiki = await wikiOf(db, container);
  const problem = wikiProblem(actor, wiki, "write");
  if (problem !== undefined) throw forbidden(problem);
  return wiki;
}

/** Content that may not fit into the answer is left out. */
const viewsOf = (pages: readonly StoredPage[], budget: AnswerBudget, read?: ReturnType<typeof contentReader>) =>
  fitRows(budget, pages, async (page) => {
    const short = () => presentListedPage(page);
    const content = await read?.(page);
    if (read && content === undefined) budget.markTruncated();
    return content === undefined ? [short] : [() => presentPage(page, content), short];
  });
