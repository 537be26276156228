import Type from "typebox";
import { isAdministrator } from "#access/principal.ts";
import { inTopLevelGroup } from "#access/containers.ts";
import type { Db } from "#db/database.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { Id, Text } from "#http/params/vocabulary.ts";
import { missing } from "#lib/refusal.ts";
import { GroupId } from "#domains/organization/groups/params.ts";
import { addDomain, requireDnsRecord, removeDomain, verifyDomain } from "./actions.ts";
import { presentDomain, VerifiedDomain } from "./entity.ts";
import { readDomain } from "./names.ts";
import { type DomainRow, domainsOf } from "./queries.ts";

const DomainId = Type.Object({ ...GroupId.properties, domain_id: Id });

export const verifiedDomains = {
  list: endpoint({
    method: "GET",
    path: "/groups/:id/verified_domains",
    summary: "List the domains of a group",
    access: inTopLevelGroup("owner"),
    params: GroupId,
    returns: pageOf(VerifiedDomain, { id: "d.id" }),
    handle: ({ db, group, page }) => page(domainsOf(db, group.id), presentDomain),
  }),

  get: endpoint({
    method: "GET",
    path: "/groups/:id/verified_domains/:domain_id",
    summary: "Get a domain of a group",
    access: inTopLevelGroup("owner"),
    params: DomainId,
    returns: VerifiedDomain,
    handle: async ({ db, group, params }) => presentDomain(await namedDomain(db, group.id, params.domain_id)),
  }),

  create: endpoint({
    method: "POST",
    path: "/groups/:id/verified_domains",
    summary: "Claim a domain for a group; it has no effect until it is verified",
    access: inTopLevelGroup("owner"),
    params: Type.Object({ ...GroupId.properties, domain: Text(255) }),
    returns: VerifiedDomain,
    audit: "verified_domain_added",
    async handle({ tx, group, params, audit }) {
      const domain = await addDomain(tx, group.id, readDomain(params.domain));
      audit(nameOf(domain));
      return presentDomain(domain);
    },
  }),

  verify: endpoint({
    method: "POST",
    path: "/groups/:id/verified_domains/:domain_id/verify",
    summary: "Verify a domain by its DNS record, or as an administrator",
    access: inTopLevelGroup("owner"),
    params: DomainId,
    returns: VerifiedDomain,
    status: 200,
    audit: "verified_domain_verified",
    async prepare({ services, actor, group, params }) {
      const domain = await namedDomain(services.db.write, group.id, params.domain_id);
      if (isAdministrator(actor)) return { by: "administrator" as const };
      await requireDnsRecord(services.dns, domain);
      return { by: "dns" as const };
    },
    async handle({ tx, group, params, by, audit }) {
      const domain = await verifyDomain(tx, group.id, params.domain_id, by);
      audit({ ...nameOf(domain), details: { verified_by: domain.verified_by } });
      return presentDomain(domain);
    },
  }),

  delete: endpoint({
    method: "DELETE",
    path: "/groups/:id/verified_domains/:domain_id",
    summary: "Remove a domain from a group",
    access: inTopLevelGroup("owner"),
    params: DomainId,
    audit: "verified_domain_removed",
    conditional: true,
    async handle({ tx, group, params, audit, unlessModified }) {
      const domain = await removeDomain(tx, group.id, params.domain_id);
      unlessModified(domain.verified_at ?? domain.created_at);
      audit(nameOf(domain));
    },
  }),
};

const nameOf = ({ id, domain, group_id }: DomainRow) =>
  ({ type: "VerifiedDomain", id, name: domain, entity: { type: "Group", id: group_id } }) as const;

async function namedDomain(db: Db, groupId: number, id: number): Promise<DomainRow> {
  const domain = await domainsOf(db, groupId).where("d.id", "=", id).executeTakeFirst();
  if (!domain) throw missing("Domain");
  return domain;
}
