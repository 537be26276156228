import Type from "typebox";
import { Flag } from "#http/params/vocabulary.ts";

/** As long as the longest description. */
const MAX_TEXT_LENGTH = 1_048_576;

export const MarkdownText = Type.Object({
  text: Type.String({ maxLength: MAX_TEXT_LENGTH }),
  gfm: Flag,
  project: Type.Optional(
    Type.String({
      maxLength: 1000,
      description: "The full path of the project in which short references are looked up",
    }),
  ),
});
