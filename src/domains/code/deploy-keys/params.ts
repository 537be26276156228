import Type from "typebox";
import { DateTime, Flag, Id, Text } from "#http/params/vocabulary.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";

const newKey = {
  key: Text(16_384),
  title: Type.String({ maxLength: 255 }),
  expires_at: Type.Optional(DateTime),
};

export const NewDeployKey = Type.Object(newKey);
export const NewDeployKeyOfProject = Type.Object({ ...ProjectId.properties, ...newKey, can_push: Flag });

export const DeployKeyOfProject = Type.Object({ ...ProjectId.properties, key_id: Id });

export const DeployKeyChanges = Type.Object(
  {
    ...DeployKeyOfProject.properties,
    title: Type.Optional(Type.String({ maxLength: 255, description: "Changed only if no other project uses the key" })),
    can_push: Flag,
  },
  { atLeastOneOf: [["title", "can_push"]] },
);

export const DeployKeyFilters = Type.Object({
  public: Type.Optional(Type.Boolean({ description: "Only keys that every project may enable" })),
});
