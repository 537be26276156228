import { tokenDigest } from "#access/authenticate.ts";
import { type Access, defineRule, USERS } from "#access/access.ts";
import { resolveProject } from "#access/paths.ts";
import type { IntegrationKey } from "#access/principal.ts";
import type { Databases } from "#db/database.ts";
import { digests, type Lookup } from "#db/loader.ts";
import { forbidden, refusedSignIn, unauthenticated } from "#lib/refusal.ts";
import type { Mappings } from "#domains/monitoring/alert-payloads/mapping.ts";

/** An integration that may send alerts. */
export interface Sender {
  readonly id: number;
  readonly project_id: number;
  readonly mappings: Mappings;
}

type KeyRow = IntegrationKey["integration"] & { readonly digest: string; readonly endpoint_identifier: string };

const keyLookup: Lookup<string, KeyRow> = {
  text: `
    select encode(k.digest, 'hex') as digest, i.id, i.project_id, i.endpoint_identifier,
      i.payload_attribute_mappings,
      case
        when not i.active then 'The alert integration is not active'
        when p.monitor_access_level = 'disabled' then 'The feature monitoring of this project is switched off'
        when p.archived or exists (select from namespaces a where a.id = any(n.traversal_ids) and a.archived)
          then 'The project is archived'
        when p.marked_for_deletion_at is not null
            or exists (select from namespaces a where a.id = any(n.traversal_ids) and a.marked_for_deletion_at is not null)
          then 'The project is marked for deletion'
      end as problem
    from alert_integration_keys k
      join alert_integrations i on i.id = k.integration_id
      join projects p on p.id = i.project_id
      join namespaces n on n.id = p.namespace_id
    where k.digest = any($1::bytea[]) and (k.expires_at is null or k.expires_at > now())`,
  keys: digests,
  key: (row) => row.digest,
};

const refused = (reason: string) => refusedSignIn(unauthenticated(), { kind: "integration_key", reason });

/**
 * Finds the integration of a key. The key and the project are looked up in any case and by nothing else, so that neither
 * the response nor its time tells a missing project or integration from a wrong key. Previous paths of the project
 * work too: no alert is lost because somebody renames a group.
 */
async function integrationOfKey(
  db: Databases,
  secret: string | undefined,
  { project = "", identifier }: Readonly<Record<string, string>>,
): Promise<KeyRow> {
  const [row, { id }] = await Promise.all([
    db.point.load(keyLookup, tokenDigest(secret ?? "")),
    resolveProject(db, project),
  ]);
  if (!row) throw refused(secret === undefined ? "no key" : "unknown key");
  if (row.project_id !== id) throw refused("key of another project");
  // The addresses of older senders have no identifier; the key is enough.
  if (identifier !== undefined && identifier !== row.endpoint_identifier) throw refused("key of another integration");
  return row;
}

const NO_USERS = { "user by token": false, "user by session": false } as const;

/** The rule for addresses that receive alerts, where `*project` is the full path of a project. */
export const byIntegrationKey = (): Access<{ sender: Sender }> => ({
  ...defineRule({
    rule: "the key of an active alert integration, as a Bearer token or as the password of Basic authentication",
    admits: { ...USERS, ...NO_USERS, "integration key": true },
    scopes: [],
    check({ principal: { integration } }) {
      if (integration.problem !== null) throw forbidden(integration.problem);
      const { id, project_id, payload_attribute_mappings: mappings } = integration;
      return { sender: { id, project_id, mappings: mappings as Mappings } };
    },
  }),
  authenticateKey: async ({ db, secret, path }) => ({
    kind: "integration key",
    integration: await integrationOfKey(db, secret, path),
  }),
});
