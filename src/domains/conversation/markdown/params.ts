import Type from "typebox";
import { Flag } from "#http/params/vocabulary.ts";

/** What takes at most about as long as a text may, whatever is in it. */
const MAX_TEXT_LENGTH = 524_288;

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
