import Type from "typebox";
import { DateTime, Flag, Id } from "#http/params/vocabulary.ts";
import { GroupId } from "#domains/organization/groups/params.ts";

const filters = {
  ...GroupId.properties,
  username: Type.Optional(Type.String({ maxLength: 255, description: "Exactly this username, in any case" })),
  search: Type.Optional(Type.String({ maxLength: 512, description: "Part of a name, username or email address" })),
  active: Flag,
  blocked: Flag,
  created_after: Type.Optional(DateTime),
  created_before: Type.Optional(DateTime),
};

export const SamlUserFilters = Type.Object(filters);

export const EnterpriseUserFilters = Type.Object({
  ...filters,
  two_factor: Type.Optional(Type.String({ description: "enabled or disabled" })),
});

export const EnterpriseUserId = Type.Object({ ...GroupId.properties, user_id: Id });
