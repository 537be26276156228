import type { Contract } from "#test/contract.ts";
import { inProject, READ, WRITE } from "#test/matrix/line.ts";
import { insertForIds, word } from "#test/matrix/rows.ts";
import { BY_OFFSET, FIRST, list } from "#test/plans/request.ts";

const ALL = "/projects/:id/alert_integrations";
const ONE = `${ALL}/:integration_id`;
const INTEGRATION = { child: "alert integration" } as const;
const READ_ONLY = { answers: { archived: 403, "archived above": 403 } } as const;
const MAPPING =
  "&payload_attribute_mappings[][field_name]=title&payload_attribute_mappings[][path][]=subject" +
  "&payload_attribute_mappings[][type]=string";

export const contract: Contract = {
  lines: {
    [`GET ${ALL}`]: inProject("maintainer", 200, READ, { holds: "alert integration" }),
    [`GET ${ONE}`]: inProject("maintainer", 200, READ, INTEGRATION),
    [`POST ${ALL}`]: inProject("maintainer", 201, WRITE, { ...READ_ONLY, send: `name=*${MAPPING}` }),
    [`PUT ${ONE}`]: inProject("maintainer", 200, WRITE, { ...INTEGRATION, ...READ_ONLY, send: "name=*" }),
    [`DELETE ${ONE}`]: inProject("maintainer", 204, WRITE, INTEGRATION),
    [`POST ${ONE}/reset_token`]: inProject("maintainer", 200, WRITE, { ...INTEGRATION, ...READ_ONLY }),
    [`POST ${ALL}/payload_fields`]: inProject("maintainer", 200, WRITE, {
      ...{ send: 'payload={"subject":"x"}', unaudited: true },
    }),
    [`POST ${ALL}/preview`]: inProject("maintainer", 200, WRITE, {
      ...{ send: 'payload={"subject":"x"}', unaudited: true },
    }),
  },
  tables: ["alert_integrations", "alert_integration_keys"],
  cascades: ["alert_integrations.project_id"],
  differing: ["endpoint_identifier", "digest"],
  unrepeatable: {
    [`POST ${ALL}/payload_fields`]: "it writes nothing",
    [`POST ${ALL}/preview`]: "it writes nothing",
  },
  plans: {
    sample: `select project_id as project, min(id) as id from alert_integrations
      group by project_id order by count(*) desc, project_id limit 1`,
    requests: ({ project, id }) => [
      ...list(`/projects/${project}/alert_integrations`, { places: BY_OFFSET }),
      ...list(`/projects/${project}/alert_integrations/${id}`, { places: FIRST }),
    ],
    indexes: ({ project }) => ({ alert_integrations_of_project: `/projects/${project}/alert_integrations` }),
  },
  fixtures: {
    "alert integration": {
      parents: ["project"],
      make: ({ db }, parents) =>
        insertForIds(
          db,
          "alert_integrations",
          parents.map(({ id }) => ({
            ...{ project_id: id, type: "http", name: word(), active: true, payload_attribute_mappings: {} },
            endpoint_identifier: identifier(),
            ...{ created_at: new Date().toISOString(), updated_at: new Date().toISOString() },
          })),
          "endpoint_identifier",
        ),
    },
  },
};

const identifier = () => word().slice(1, 17);
