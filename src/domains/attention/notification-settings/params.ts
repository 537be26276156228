import Type from "typebox";
import { GroupId } from "#domains/organization/groups/params.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";

/** How much mail somebody gets, from none to all. */
export const NOTIFICATION_LEVELS = ["disabled", "mention", "participating", "watch"] as const;

export const SettingsChanges = Type.Object({
  level: Type.Optional(Type.Enum([...NOTIFICATION_LEVELS])),
  notification_email: Type.Optional(
    Type.String({ maxLength: 320, description: "A confirmed address of the caller; blank for the primary one" }),
  ),
});

const level = Type.Optional(
  Type.Enum([...NOTIFICATION_LEVELS, "global"], {
    description: "`global` for what is set further up, and in the end for everywhere",
  }),
);
export const GroupChanges = Type.Object({ ...GroupId.properties, level });
export const ProjectChanges = Type.Object({ ...ProjectId.properties, level });
