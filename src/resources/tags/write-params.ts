import Type from "typebox";
import { Text } from "#http/params/vocabulary.ts";
import { ProjectId } from "#resources/projects/params.ts";

export const NewTag = Type.Object({
  ...ProjectId.properties,
  tag_name: Text(255),
  ref: Type.String({ minLength: 1, maxLength: 1024, description: "The branch, tag or commit that it points to" }),
  message: Type.String({ default: "", maxLength: 512 * 1024, description: "With one, the tag is annotated" }),
});
