import Type, { type Static } from "typebox";
import { administrator } from "#access/access.ts";
import { inGroup, inProject } from "#access/containers.ts";
import type { Databases, Db } from "#db/database.ts";
import { order } from "#db/lists/order.ts";
import { endpoint } from "#http/endpoint.ts";
import { type Page, pageOf } from "#http/paging.ts";
import { badParameter, missing } from "#lib/refusal.ts";
import { AuditEvent, presentEvent } from "./entity.ts";
import { Container, EventFilters, EventId, EventInContainer, InstanceFilters } from "./params.ts";
import { auditEvents as allEvents, between, type Entity, ofEntity, pathsOf } from "./queries.ts";

const Events = pageOf(AuditEvent, {
  id: "e.id",
  // Ids grow with time and partitions are ordered by time, so both orders use `created_at`.
  orders: { id: order("e.created_at", "timestamptz"), created_at: order("e.created_at", "timestamptz") },
  keyset: ["id", "created_at"],
  sort: "desc",
  type: "AuditEvent",
});
const inContainer = Type.Object({ ...Container.properties, ...EventFilters.properties });

export const auditEvents = {
  list: endpoint({
    method: "GET",
    path: "/audit_events",
    summary: "List the audit events of the instance",
    access: administrator(),
    params: InstanceFilters,
    returns: Events,
    handle({ databases, params, page }) {
      const { entity_type: type, entity_id: id } = params;
      if (id !== undefined && type === undefined) throw badParameter("entity_type is missing, entity_id needs it");
      return pageOfEvents(databases, page, params, type && { type, id });
    },
  }),

  get: endpoint({
    method: "GET",
    path: "/audit_events/:id",
    summary: "Get an audit event of the instance",
    access: administrator(),
    params: EventId,
    returns: AuditEvent,
    handle: ({ db, params }) => oneEvent(db, params.id),
  }),

  listOfGroup: endpoint({
    method: "GET",
    path: "/groups/:id/audit_events",
    summary: "List the audit events of a group",
    access: inGroup("owner"),
    params: inContainer,
    returns: Events,
    handle: ({ databases, group, params, page }) =>
      pageOfEvents(databases, page, params, { type: "Group", id: group.id }),
  }),

  getOfGroup: endpoint({
    method: "GET",
    path: "/groups/:id/audit_events/:audit_event_id",
    summary: "Get an audit event of a group",
    access: inGroup("owner"),
    params: EventInContainer,
    returns: AuditEvent,
    handle: ({ db, group, params }) => oneEvent(db, params.audit_event_id, { type: "Group", id: group.id }),
  }),

  listOfProject: endpoint({
    method: "GET",
    path: "/projects/:id/audit_events",
    summary: "List the audit events of a project",
    access: inProject("maintainer"),
    params: inContainer,
    returns: Events,
    handle: ({ databases, project, params, page }) =>
      pageOfEvents(databases, page, params, { type: "Project", id: project.id }),
  }),

  getOfProject: endpoint({
    method: "GET",
    path: "/projects/:id/audit_events/:audit_event_id",
    summary: "Get an audit event of a project",
    access: inProject("maintainer"),
    params: EventInContainer,
    returns: AuditEvent,
    handle: ({ db, project, params }) => oneEvent(db, params.audit_event_id, { type: "Project", id: project.id }),
  }),
};

async function pageOfEvents(
  { read, readAnew }: Databases,
  page: Page<typeof Events>,
  filters: Static<typeof EventFilters>,
  entity: Entity | undefined,
) {
  // A generic plan suits a group or project with few events, and would sort all events of a busy one for each page.
  const events = allEvents(entity?.id === undefined ? read : readAnew);
  const rows = await page.rows(between(entity ? ofEntity(events, entity) : events, filters));
  return rows.map(presentEvent(await pathsOf(read, rows)));
}

/** Finds an event by id; an event of another entity is 404 like a missing one. */
async function oneEvent(db: Db, id: number, entity?: Entity) {
  const events = entity ? ofEntity(allEvents(db), entity) : allEvents(db);
  const row = await events.where("e.id", "=", id).executeTakeFirst();
  if (!row) throw missing("Audit Event");
  return presentEvent(await pathsOf(db, [row]))(row);
}
