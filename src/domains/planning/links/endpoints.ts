import Type from "typebox";
import { type AuditTarget, endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { Id } from "#http/params/vocabulary.ts";
import { createLink, removeLink } from "./actions.ts";
import type { LinkedItem, LinkKind, LinkResource } from "./kinds.ts";
import { IgnoredLinkType, LinkTypeParam } from "./params.ts";
import { ALL_LINKS, type LinkRow, linksOf, requireLink } from "./queries.ts";
import { recordLink } from "./records.ts";
import { linkedViews, linkView } from "./views.ts";

/** The endpoints for the links between items of one kind, told from the item in the path. */
export const linkEndpoints = (resource: LinkResource) => ({ ...readEndpoints(resource), ...writeEndpoints(resource) });

function readEndpoints({ kind, path, linkId, both, availability, reader, ...resource }: LinkResource) {
  const one = `an ${kind.item.word}`;
  return {
    list: endpoint({
      method: "GET",
      path,
      summary: `List the ${both} that ${one} is linked to, as far as the caller may see them`,
      ...availability,
      access: reader,
      params: resource.params,
      returns: pageOf(resource.linked, ALL_LINKS),
      async handle({ db, params, page, ...viewer }) {
        const item = await resource.find(db, viewer, params);
        const links = await page.rows(linksOf(db, kind, item, viewer.actor));
        const linked = await linkedViews(db, { ...kind, views: resource.linkedViews }, item, links, viewer);
        return linked.map(({ link, view }) => ({ ...view, [linkId]: link.id }));
      },
    }),

    get: endpoint({
      method: "GET",
      path: `${path}/:${linkId}`,
      summary: `Get a link of ${one}, told from that ${kind.item.word}`,
      ...availability,
      access: reader,
      params: Type.Object({ ...resource.params.properties, [linkId]: Id }),
      returns: resource.link,
      async handle({ db, params, ...viewer }) {
        const item = await resource.find(db, viewer, params);
        const linked = await requireLink(db, kind, item, viewer.actor, Number(params[linkId]));
        return resource.present(await linkView(db, kind, item, linked, viewer));
      },
    }),
  };
}

function writeEndpoints({ kind, path, linkId, both, needed, availability, writer, ...resource }: LinkResource) {
  const { word } = kind.item;
  const ofItem = resource.params.properties;
  return {
    create: endpoint({
      method: "POST",
      path,
      summary: `Link two ${both}; requires ${needed}`,
      ...availability,
      access: writer,
      params: Type.Object({ ...ofItem, ...resource.target.properties, link_type: LinkTypeParam }),
      returns: resource.link,
      audit: `${word}_link_created`,
      async handle({ params, audit, ...write }) {
        const { tx, actor, services } = write;
        const item = await resource.find(tx, write, params);
        const other = await resource.findTarget(write, params);
        await resource.requireRights(write, item, other);
        const { prevent_blocking_cycles } = await services.settings.current();
        const link = await createLink(tx, kind, { item, other, type: params.link_type }, !prevent_blocking_cycles);
        audit(targetOf(kind, link, item));
        const view = await linkView(tx, kind, item, { link, other }, write);
        await recordLink(tx, kind, view, actor.user.id, "created");
        return resource.present(view);
      },
    }),

    delete: endpoint({
      method: "DELETE",
      path: `${path}/:${linkId}`,
      summary: `Delete a link between ${both}; requires ${needed}`,
      ...availability,
      access: writer,
      params: Type.Object({ ...ofItem, [linkId]: Id, link_type: IgnoredLinkType }),
      returns: resource.link,
      audit: `${word}_link_deleted`,
      conditional: true,
      async handle({ params, audit, unlessModified, ...write }) {
        const { tx, actor } = write;
        const item = await resource.find(tx, write, params);
        const linked = await requireLink(tx, kind, item, actor, Number(params[linkId]));
        await resource.requireRights(write, item, linked.other);
        unlessModified(linked.link.updated_at);
        const view = await linkView(tx, kind, item, linked, write);
        await removeLink(tx, kind, linked.link);
        await recordLink(tx, kind, view, actor.user.id, "deleted");
        audit(targetOf(kind, linked.link, item));
        return resource.present(view);
      },
    }),
  };
}

function targetOf(kind: LinkKind, { id, source_id, target_id, link_type }: LinkRow, item: LinkedItem): AuditTarget {
  const { name, sign, container } = kind.item;
  return {
    type: `${name}Link`,
    id,
    name: `${sign}${item.iid}`,
    details: { source_id, target_id, link_type },
    entity: { type: container === "project" ? "Project" : "Group", id: kind.containerId(item) },
  };
}
