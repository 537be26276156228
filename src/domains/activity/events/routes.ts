import Type from "typebox";
import { signedIn } from "#access/access.ts";
import { inGroup, inProject } from "#access/containers.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { authorShownTo } from "#domains/activity/authors.ts";
import { GroupId } from "#domains/organization/groups/params.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";
import { ActivityEvent, GroupActivityEvent } from "./entity.ts";
import { EventFilters, OwnEventFilters } from "./params.ts";
import { eventsByAuthor, eventsOfGroup, eventsOfOwnProjects, eventsOfProject, PAGING } from "./queries.ts";
import { eventViews, groupEventViews } from "./views.ts";

const Events = pageOf(ActivityEvent, PAGING);
const scopes = ["read_user"] as const;

/** Feeds of what users did, as far as the caller may see it. */
export const events = {
  list: endpoint({
    method: "GET",
    path: "/events",
    summary: "List one's own events, or those in all projects that one is a member of",
    access: signedIn({ scopes }),
    params: OwnEventFilters,
    returns: Events,
    async handle({ db, databases, actor, params, page, ...viewer }) {
      if (params.scope !== "all")
        return eventViews(db, await page.rows(eventsByAuthor(db, actor.user.id, actor, params)), viewer);
      const { query, isCounted } = await eventsOfOwnProjects(databases, actor, params);
      return eventViews(db, await (isCounted ? page.rows(query) : page.uncountedRows(query)), viewer);
    },
  }),

  listOfUser: endpoint({
    method: "GET",
    path: "/users/:id/events",
    summary: "List the events of a user",
    access: signedIn({ scopes }),
    params: Type.Object({ id: Type.String({ description: "Id or username" }), ...EventFilters.properties }),
    returns: Events,
    async handle({ db, databases, actor, params, page, ...viewer }) {
      const authorId = await authorShownTo(databases, actor, params.id);
      return eventViews(db, await page.rows(eventsByAuthor(db, authorId, actor, params)), viewer);
    },
  }),

  listOfProject: endpoint({
    method: "GET",
    path: "/projects/:id/events",
    summary: "List the events of a project",
    access: inProject("viewer", { signedIn: true, scopes }),
    params: Type.Object({ ...ProjectId.properties, ...EventFilters.properties }),
    returns: Events,
    async handle({ db, actor, project, params, page, ...viewer }) {
      return eventViews(db, await page.rows(eventsOfProject(db, project, actor, params)), viewer);
    },
  }),

  listOfGroup: endpoint({
    method: "GET",
    path: "/groups/:id/events",
    summary: "List the events of a group, of the groups below it and of the projects in them",
    access: inGroup("viewer", { signedIn: true, scopes }),
    params: Type.Object({ ...GroupId.properties, ...EventFilters.properties }),
    returns: pageOf(GroupActivityEvent, PAGING),
    async handle({ db, databases, actor, group, params, page, ...viewer }) {
      const { query, isCounted } = await eventsOfGroup(databases, group, actor, params);
      return groupEventViews(db, await (isCounted ? page.rows(query) : page.uncountedRows(query)), viewer);
    },
  }),
};
