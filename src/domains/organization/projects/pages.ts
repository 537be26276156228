import Type from "typebox";
import { actingUserByIdOrName } from "#access/acting-users.ts";
import type { Actor } from "#access/principal.ts";
import type { Databases, Db } from "#db/database.ts";
import type { Listing, TableSource } from "#db/lists/list-page.ts";
import { type Page, pageOf } from "#http/paging.ts";
import { missing } from "#lib/refusal.ts";
import { refuseHiddenUser } from "#domains/identity/users/access.ts";
import type { Services } from "#services.ts";
import { Project, ProjectSummary } from "./entity.ts";
import { type Filters, listProjects, PAGING } from "./list.ts";
import { listedProjects } from "./queries.ts";
import { viewProjects } from "./views.ts";

export const ProjectPage = pageOf(Type.Union([Project, ProjectSummary]), PAGING);

/** The request context that every list of projects needs. */
interface ListRequest {
  readonly db: Db;
  readonly actor: Actor | null;
  readonly params: Filters;
  readonly page: Page<typeof ProjectPage>;
  readonly site: string;
  readonly services: Services;
}

export async function pageOfProjects({ db, actor, params, page, site, services }: ListRequest, listing: Listing) {
  return viewProjects(db, await page.rows(listedProjects(db), listing), { actor, site, services }, params.simple);
}

/** A page of the projects of some sources, filtered by the caller's parameters. */
export const pageOfSources = (request: ListRequest, sources: readonly TableSource[]) =>
  pageOfProjects(request, listProjects(sources, request.actor, request.params));

interface UserRequest {
  readonly databases: Databases;
  readonly actor: Actor | null;
  readonly services: Services;
  readonly params: { readonly user_id: string };
}

/** The user whose projects are listed; 404 if the caller may not see them. */
export async function listedUser({ databases, actor, services, params: { user_id: idOrName } }: UserRequest) {
  await refuseHiddenUser(actor, services.settings, idOrName);
  const named = await actingUserByIdOrName(databases, idOrName);
  const user =
    named &&
    (await databases.read
      .selectFrom("users")
      .select(["id", "namespace_id", "private_profile"])
      .where("id", "=", named.id)
      .executeTakeFirst());
  if (!user) throw missing("User");
  return user;
}
