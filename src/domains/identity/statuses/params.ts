import Type from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";

export const StatusChanges = Type.Object({
  emoji: Type.Optional(Nullable(Type.String({ maxLength: 1024, description: "Name of an emoji, without colons" }))),
  message: Type.Optional(Nullable(Type.String({ maxLength: 1024, description: "At most 100 characters" }))),
  availability: Type.Optional(Nullable(Type.Enum(["busy", "not_set"]))),
  clear_status_after: Type.Optional(
    Nullable(Type.Enum(["30_minutes", "3_hours", "8_hours", "1_day", "3_days", "7_days", "30_days"])),
  ),
});
