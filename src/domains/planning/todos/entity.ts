import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import { UserSummary } from "#domains/identity/users/entity.ts";
import { Namespace } from "#domains/organization/namespaces/entity.ts";
import { ProjectIdentity } from "#domains/organization/projects/identity.ts";
import { Epic } from "#domains/planning/epics/entity.ts";
import { Issue } from "#domains/planning/issues/entity.ts";
import { ACTIONS, TARGET_TYPES } from "./params.ts";

/** Something that a user is asked to look at. */
export const Todo = Type.Object(
  {
    id: Type.Integer(),
    project: Type.Optional(ProjectIdentity),
    group: Type.Optional(Namespace),
    author: Nullable(UserSummary),
    action_name: Type.Enum([...ACTIONS]),
    target_type: Type.Enum([...TARGET_TYPES]),
    target: Type.Union([Issue, Epic]),
    target_url: Type.String(),
    body: Type.String({ description: "The title of the issue or epic" }),
    state: Type.Enum(["pending", "done"]),
    created_at: Type.String({ format: "date-time" }),
    updated_at: Type.String({ format: "date-time" }),
  },
  { additionalProperties: false, title: "Todo" },
);
export type Todo = Static<typeof Todo>;
