import { sql } from "kysely";
import { anyone, signedIn } from "#access/access.ts";
import { hasRole, inProject } from "#access/containers.ts";
import { isAdministrator } from "#access/principal.ts";
import { VISIBILITIES } from "#access/roles.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { forbidden } from "#lib/refusal.ts";
import { MAX_COMMIT_BODY_BYTES } from "#domains/code/commits/params.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";
import { storageLeftOf } from "#domains/storage/repositories/quota.ts";
import { createSnippet } from "./actions.ts";
import { snippetEndpoints } from "./endpoints.ts";
import { Snippet } from "./entity.ts";
import {
  AllSnippetFilters,
  byItself,
  inItsProject,
  NewPersonalSnippet,
  NewProjectSnippet,
  SnippetFilters,
} from "./params.ts";
import { createdBetween, snippets, snippetVisibleInProject, snippetVisibleTo } from "./queries.ts";
import { snippetTarget } from "./repository.ts";
import { snippetView, snippetViews } from "./views.ts";

const Snippets = pageOf(Snippet, { id: "s.id", sort: "desc" });

export const personalSnippets = {
  list: endpoint({
    method: "GET",
    path: "/snippets",
    summary: "List one's own snippets, newest first",
    access: signedIn(),
    params: SnippetFilters,
    returns: Snippets,
    async handle({ db, page, params, ...viewer }) {
      const { actor } = viewer;
      const own = snippets(db).where("s.author_id", "=", actor.user.id).where(snippetVisibleTo(actor));
      return snippetViews(db, await page.rows(own.where(createdBetween(params))), viewer);
    },
  }),

  listPublic: endpoint({
    method: "GET",
    path: "/snippets/public",
    summary: "List the personal snippets that everybody may see, newest first",
    access: anyone(),
    params: SnippetFilters,
    returns: Snippets,
    async handle({ db, page, params, ...viewer }) {
      const open = snippets(db).where(
        sql<boolean>`s.project_id is null and s.visibility = ${sql.lit(VISIBILITIES.public)}`,
      );
      return snippetViews(db, await page.rows(open.where(createdBetween(params))), viewer);
    },
  }),

  listAll: endpoint({
    method: "GET",
    path: "/snippets/all",
    summary: "List all snippets that one may see, newest first",
    access: signedIn(),
    params: AllSnippetFilters,
    returns: Snippets,
    async handle({ db, page, params, ...viewer }) {
      const { actor } = viewer;
      const storage = isAdministrator(actor) ? params.repository_storage : undefined;
      const isThere = storage === undefined ? sql<boolean>`true` : sql<boolean>`r.storage = ${storage}`;
      const visible = snippets(db).where(snippetVisibleTo(actor)).where(isThere);
      return snippetViews(db, await page.rows(visible.where(createdBetween(params))), viewer);
    },
  }),

  create: endpoint({
    method: "POST",
    path: "/snippets",
    summary: "Create a personal snippet",
    access: signedIn(),
    params: NewPersonalSnippet,
    returns: Snippet,
    audit: "snippet_created",
    maxBodyBytes: MAX_COMMIT_BODY_BYTES,
    async prepare({ services, actor }) {
      if (actor.user.external) throw forbidden("External users cannot create personal snippets");
      await storageLeftOf(services, actor.user.id);
      return {};
    },
    async handle({ tx, params, audit, ...write }) {
      const snippet = await createSnippet(tx, write, null, params);
      audit(snippetTarget(snippet));
      return snippetView(tx, snippet.id, write);
    },
  }),

  ...snippetEndpoints({
    path: "/snippets/:id",
    word: "a snippet",
    reader: anyone(),
    editor: signedIn(),
    names: byItself,
  }),
};

const feature = "snippets";

export const projectSnippets = {
  list: endpoint({
    method: "GET",
    path: "/projects/:id/snippets",
    summary: "List the snippets of a project, newest first",
    access: inProject("viewer", { feature }),
    params: ProjectId,
    returns: Snippets,
    async handle({ db, page, project, ...viewer }) {
      const isVisible = snippetVisibleInProject(viewer.actor, hasRole(viewer.actor, project, "guest"));
      const ofProject = snippets(db).where("s.project_id", "=", project.id).where(isVisible);
      return snippetViews(db, await page.rows(ofProject), viewer);
    },
  }),

  create: endpoint({
    method: "POST",
    path: "/projects/:id/snippets",
    summary: "Create a snippet in a project",
    access: inProject("reporter", { feature, unlessArchived: true }),
    params: NewProjectSnippet,
    returns: Snippet,
    audit: "snippet_created",
    maxBodyBytes: MAX_COMMIT_BODY_BYTES,
    async prepare({ services, actor }) {
      await storageLeftOf(services, actor.user.id);
      return {};
    },
    async handle({ tx, params, project, audit, ...write }) {
      const snippet = await createSnippet(tx, write, project.id, params);
      audit(snippetTarget(snippet));
      return snippetView(tx, snippet.id, write);
    },
  }),

  ...snippetEndpoints({
    path: "/projects/:id/snippets/:snippet_id",
    word: "a snippet of a project",
    reader: inProject("viewer", { feature }),
    editor: inProject("viewer", { feature, signedIn: true }),
    names: inItsProject,
  }),
};
