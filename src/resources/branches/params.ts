import Type from "typebox";
import { ProjectId } from "#resources/projects/params.ts";
import { NameSearch } from "#resources/repositories/name-search.ts";

export const BranchFilters = Type.Object({
  ...ProjectId.properties,
  search: Type.Optional(NameSearch),
  regex: Type.Optional(Type.String({ description: "Refused: a pattern of the caller's could keep the server busy" })),
  sort: Type.Enum(["name_asc", "updated_asc", "updated_desc"], { default: "name_asc" }),
});

export const BranchName = Type.Object({ ...ProjectId.properties, branch: Type.String({ maxLength: 1024 }) });
