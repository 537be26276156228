import Type from "typebox";
import { CommaList } from "#http/params/vocabulary.ts";

const MAX_INTEGER = 2 ** 31 - 1;

/** The number of an issue in its project, or of an epic in its group. */
export const Iid = Type.Integer({ minimum: 0, maximum: MAX_INTEGER });

/** A count that the database holds in four bytes. */
export const Count = Type.Integer({ minimum: 0, maximum: MAX_INTEGER });

/** Names of labels; they have no commas. */
export const LabelNames = CommaList(Type.String({ maxLength: 255 }), { maxItems: 100 });
