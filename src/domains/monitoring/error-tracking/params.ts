import Type from "typebox";
import { Id } from "#http/params/vocabulary.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";

const integrated = Type.Boolean({ description: "Whether errors are collected by this server" });

export const NewSettings = Type.Object({ ...ProjectId.properties, active: Type.Boolean(), integrated });

export const SettingsChanges = Type.Object({
  ...ProjectId.properties,
  active: Type.Boolean(),
  integrated: Type.Optional(integrated),
});

export const ClientKeyId = Type.Object({ ...ProjectId.properties, key_id: Id });
