import Type from "typebox";
import { ProjectId } from "#resources/projects/params.ts";
import { NameSearch } from "#resources/repositories/name-search.ts";

export const TagFilters = Type.Object({
  ...ProjectId.properties,
  search: Type.Optional(NameSearch),
  order_by: Type.Enum(["name", "updated", "version"], { default: "updated" }),
  sort: Type.Enum(["asc", "desc"], { default: "desc" }),
});

export const TagName = Type.Object({ ...ProjectId.properties, tag_name: Type.String({ maxLength: 1024 }) });
