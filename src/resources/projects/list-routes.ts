import Type from "typebox";
import { anyone } from "#access/access.ts";
import { type Actor, isAdministrator } from "#access/actor.ts";
import { actingUserByIdOrName } from "#access/callers.ts";
import { inGroup } from "#access/containers.ts";
import type { Databases, Db } from "#db/database.ts";
import { endpoint } from "#http/endpoint.ts";
import { type Page, pageOf } from "#http/paging.ts";
import { missing } from "#lib/refusal.ts";
import { refuseHiddenUser } from "#resources/users/access.ts";
import type { Services } from "#services.ts";
import { Project, ProjectSummary } from "./entity.ts";
import {
  type Among,
  everywhere,
  type Filters,
  inNamespace,
  listProjects,
  nothing,
  ofGroup,
  ORDERS,
  ownOf,
  starredBy,
} from "./list.ts";
import { GroupsProjectFilters, ProjectFilters, UsersProjectFilters } from "./params.ts";
import { viewProjects } from "./views.ts";

const ProjectPage = pageOf(Type.Union([Project, ProjectSummary]), ORDERS);

/** What a list hands on to what answers it. */
interface Asking {
  readonly db: Db;
  readonly actor: Actor | null;
  readonly params: Filters;
  readonly page: Page<typeof ProjectPage>;
  readonly site: string;
  readonly services: Services;
}

async function listed({ db, actor, params, page, site, services }: Asking, among: Among) {
  const { query, options } = await listProjects(db, among, actor, params);
  return viewProjects(db, await page.rows(query, options), { actor, site, services }, params.simple);
}

export const projectLists = {
  list: endpoint({
    method: "GET",
    path: "/projects",
    summary: "List projects",
    access: anyone(),
    params: ProjectFilters,
    returns: ProjectPage,
    handle: (asking) => listed(asking, everywhere(asking.actor, asking.params)),
  }),

  listOfGroup: endpoint({
    method: "GET",
    path: "/groups/:id/projects",
    summary: "List the projects of a group",
    access: inGroup("viewer"),
    params: GroupsProjectFilters,
    returns: ProjectPage,
    handle({ group, ...asking }) {
      const { actor, params } = asking;
      return listed(asking, ownOf(ofGroup(group, actor, params), actor, params));
    },
  }),

  listOfUser: endpoint({
    method: "GET",
    path: "/users/:user_id/projects",
    summary: "List the personal projects of a user",
    access: anyone(),
    params: UsersProjectFilters,
    returns: ProjectPage,
    async handle({ databases, ...asking }) {
      const { actor, params, services } = asking;
      await refuseHiddenUser(actor, services.settings, params.user_id);
      const { namespace_id } = await foundUser(databases, params.user_id);
      return listed(asking, ownOf(inNamespace(namespace_id, actor), actor, params));
    },
  }),

  listStarred: endpoint({
    method: "GET",
    path: "/users/:user_id/starred_projects",
    summary: "List the projects that a user starred",
    access: anyone(),
    params: UsersProjectFilters,
    returns: ProjectPage,
    async handle({ databases, ...asking }) {
      const { actor, params, services } = asking;
      await refuseHiddenUser(actor, services.settings, params.user_id);
      const { id, private_profile } = await foundUser(databases, params.user_id);
      const hidden = private_profile && id !== actor?.user.id && !isAdministrator(actor);
      return listed(asking, hidden ? nothing : ownOf(starredBy(id, actor), actor, params));
    },
  }),
};

async function foundUser(databases: Databases, idOrName: string) {
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
