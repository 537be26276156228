import Type from "typebox";
import { CommaList, DateTime, Id, Nullable } from "#http/params/vocabulary.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";
import { SEVERITIES } from "#domains/monitoring/alert-payloads/severity.ts";
import { ALERT_STATUSES } from "./words.ts";

const MAX_ASSIGNEES = 100;

export const AlertId = Type.Object({ ...ProjectId.properties, alert_iid: Id });

const Status = Type.Enum([...ALERT_STATUSES]);
const Severity = Type.Enum([...SEVERITIES]);

export const AlertFilters = Type.Object({
  ...ProjectId.properties,
  status: Type.Optional(CommaList(Status, { maxItems: ALERT_STATUSES.length })),
  severity: Type.Optional(CommaList(Severity, { maxItems: SEVERITIES.length })),
  search: Type.Optional(
    Type.String({ maxLength: 512, description: "Words of the title, description, service or monitoring tool" }),
  ),
  assignee_username: Type.Optional(Type.String({ maxLength: 255 })),
  environment: Type.Optional(Type.String({ maxLength: 255, description: "The name of an environment" })),
  integration_id: Type.Optional(Id),
  started_after: Type.Optional(DateTime),
  started_before: Type.Optional(DateTime),
});

export const AlertChanges = Type.Object(
  {
    ...AlertId.properties,
    status: Type.Optional(Status),
    assignee_ids: Type.Optional(
      Nullable(
        Type.Array(Id, {
          maxItems: MAX_ASSIGNEES,
          description: "The new assignee: the first of these users; nobody if the list is empty",
        }),
      ),
    ),
  },
  { atLeastOneOf: [["status", "assignee_ids"]] },
);
