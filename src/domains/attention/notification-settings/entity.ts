import Type, { type Static } from "typebox";
import { NOTIFICATION_LEVELS } from "./params.ts";

const exact = { additionalProperties: false };

/** How much mail somebody gets, and where. */
export const NotificationSettings = Type.Object(
  { level: Type.Enum([...NOTIFICATION_LEVELS]), notification_email: Type.String() },
  { ...exact, title: "NotificationSettings" },
);
export type NotificationSettings = Static<typeof NotificationSettings>;

/** How much of it is about a group or project. */
export const NotificationLevel = Type.Object(
  { level: Type.Enum([...NOTIFICATION_LEVELS, "global"]) },
  { ...exact, title: "NotificationLevel" },
);
export type NotificationLevel = Static<typeof NotificationLevel>;
