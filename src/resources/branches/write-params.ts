import Type from "typebox";
import { Text } from "#http/params/vocabulary.ts";
import { ProjectId } from "#resources/projects/params.ts";

export const NewBranch = Type.Object({
  ...ProjectId.properties,
  branch: Text(255),
  ref: Type.String({ minLength: 1, maxLength: 1024, description: "The branch, tag or commit that it begins at" }),
});
