import type { ItemKind } from "#domains/conversation/items/item.ts";
import { notifyOfComment } from "#domains/attention/notifications/comments.ts";
import { epicVisibleTo, isNamedVisible } from "#domains/planning/items/visibility.ts";
import { readersOfStoredEpic } from "./readers.ts";

export const EPIC = {
  ...{ name: "Epic", word: "epic", sign: "&", container: "group" },
  ...{ table: "epics", alias: "e", column: "epic_id", otherColumn: "other_epic_id" },
  people: [],
  ...{ isVisible: epicVisibleTo, isNamedVisible },
  readers: readersOfStoredEpic,
  commented: notifyOfComment,
} as const satisfies ItemKind;
