import Type from "typebox";
import { ProjectId } from "#domains/organization/projects/params.ts";
import { NameSearch } from "#domains/code/repository/name-search.ts";
import { Text } from "#http/params/vocabulary.ts";

export const BranchFilters = Type.Object({
  ...ProjectId.properties,
  search: Type.Optional(NameSearch),
  regex: Type.Optional(
    Type.String({ description: "Refused, because a regular expression could keep the server busy" }),
  ),
  sort: Type.Enum(["name_asc", "updated_asc", "updated_desc"], { default: "name_asc" }),
});

export const BranchName = Type.Object({ ...ProjectId.properties, branch: Type.String({ maxLength: 1024 }) });

export const NewBranch = Type.Object({
  ...ProjectId.properties,
  branch: Text(255),
  ref: Type.String({ minLength: 1, maxLength: 1024, description: "The branch, tag or commit to start from" }),
});
