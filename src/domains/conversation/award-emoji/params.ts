import Type from "typebox";
import { Id } from "#http/params/vocabulary.ts";

export const award = { award_id: Id };
/** What a new award is made of. */
export const awardDraft = {
  name: Type.String({
    minLength: 1,
    maxLength: 100,
    description: "The name of an emoji without colons, such as `thumbsup`",
  }),
};
