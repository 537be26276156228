import type { ItemKind } from "#domains/planning/items/item.ts";
import { readersOfStoredEpic } from "./readers.ts";

export const EPIC = {
  ...{ name: "Epic", word: "epic", sign: "&", container: "group" },
  ...{ table: "epics", alias: "e", column: "epic_id", otherColumn: "other_epic_id" },
  people: [],
  readers: readersOfStoredEpic,
} as const satisfies ItemKind;
