import Type from "typebox";
import { ProjectId } from "#domains/organization/projects/params.ts";
import { NameSearch } from "#domains/code/repository/name-search.ts";
import { Text } from "#http/params/vocabulary.ts";

export const TagFilters = Type.Object({
  ...ProjectId.properties,
  search: Type.Optional(NameSearch),
  order_by: Type.Enum(["name", "updated", "version"], { default: "updated" }),
  sort: Type.Enum(["asc", "desc"], { default: "desc" }),
});

export const TagName = Type.Object({ ...ProjectId.properties, tag_name: Type.String({ maxLength: 1024 }) });

export const NewTag = Type.Object({
  ...ProjectId.properties,
  tag_name: Text(255),
  ref: Type.String({ minLength: 1, maxLength: 1024, description: "The branch, tag or commit that it points to" }),
  message: Type.String({ default: "", maxLength: 512 * 1024, description: "With one, the tag is annotated" }),
});
