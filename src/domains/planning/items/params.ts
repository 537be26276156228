import Type from "typebox";
import { CommaList } from "#http/params/vocabulary.ts";

const MAX_INTEGER = 2 ** 31 - 1;

/** The number of an issue in its project, or of an epic in its group. */
export const Iid = Type.Integer({ minimum: 0, maximum: MAX_INTEGER });

/** A count that the database holds in four bytes. */
export const Count = Type.Integer({ minimum: 0, maximum: MAX_INTEGER });

/** Labels of one item: each is on every page with the item. */
export const MAX_LABELS = 100;

/** Names of labels; they have no commas. */
export const LabelNames = CommaList(Type.String({ maxLength: 255 }), { maxItems: MAX_LABELS });

/** Of one filter: each is a lookup for every row that the list walks. */
export const MAX_FILTER_NAMES = 20;

/** Names of labels that a list is filtered by. */
export const LabelFilter = (description?: string) =>
  CommaList(LabelNames.items, { maxItems: MAX_FILTER_NAMES, ...(description !== undefined && { description }) });
