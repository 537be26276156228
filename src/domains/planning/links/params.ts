import Type from "typebox";
import { UNUSED } from "#http/ignored.ts";
import { DateTime, Id, Nullable } from "#http/params/vocabulary.ts";
import { GroupId } from "#domains/organization/groups/params.ts";
import { IssueId } from "#domains/planning/issues/params.ts";
import { MAX_DEPTH } from "./graph.ts";
import { LINK_TYPES } from "./queries.ts";

export const containerParam = (kind: "project" | "group") =>
  Nullable(
    Type.Union([Id, Type.String({ maxLength: 8192 })], {
      description: `Id or full path of the ${kind} of the target; null is the ${kind} in the path`,
    }),
  );
/** Null and a blank are the container in the path; any other value is looked up. */
export const containerOf = <Given extends number | string>(given: Given | null, own: number): Given | number =>
  given === null || given === "" ? own : given;

export const LinkTypeParam = Type.Enum([...LINK_TYPES], {
  default: "relates_to",
  description: "How the item in the path is linked to the target",
});
export const IgnoredLinkType = Type.Optional(
  Type.String({ ...UNUSED, description: "Ignored: two items have one link at most" }),
);

export const GraphDepth = Type.Object({
  ...IssueId.properties,
  depth: Type.Integer({ minimum: 1, maximum: MAX_DEPTH, default: 2, description: "How many links away issues may be" }),
});

const Moment = (description: string) => Type.Optional(Type.String({ ...DateTime, description }));
export const EpicLinkFilters = Type.Object({
  ...GroupId.properties,
  created_after: Moment("Created then or later"),
  created_before: Moment("Created then or earlier"),
  updated_after: Moment("Changed then or later"),
  updated_before: Moment("Changed then or earlier"),
});
