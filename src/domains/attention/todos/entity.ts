import Type, { type Static, type TSchema } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import { UserSummary } from "#domains/identity/users/entity.ts";
import { Namespace } from "#domains/organization/namespaces/entity.ts";
import { ProjectIdentity } from "#domains/organization/projects/identity.ts";
import { ITEM_NAMES } from "#domains/conversation/items/item.ts";
import type { TodoTarget } from "./kinds.ts";
import { ACTIONS } from "./params.ts";

const todo = {
  id: Type.Integer(),
  project: Type.Optional(ProjectIdentity),
  group: Type.Optional(Namespace),
  author: Nullable(UserSummary),
  action_name: Type.Enum([...ACTIONS]),
  target_type: Type.Enum([...ITEM_NAMES]),
  target_url: Type.String(),
  body: Type.String({ description: "The title of the target" }),
  state: Type.Enum(["pending", "done"]),
  created_at: Type.String({ format: "date-time" }),
  updated_at: Type.String({ format: "date-time" }),
};

/** Something that a user is asked to look at: one of some kinds of items. */
export const todoOf = (targets: readonly TSchema[]) =>
  Type.Object(
    { ...todo, target: Type.Unsafe<TodoTarget["target"]>(Type.Union([...targets])) },
    { additionalProperties: false, title: "Todo" },
  );
export type Todo = Static<ReturnType<typeof todoOf>>;
