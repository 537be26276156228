import Type, { type Static } from "typebox";
import { Flag, Line, Nullable, Text } from "#http/params/vocabulary.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";
import { MAX_COLOR_LENGTH } from "#domains/planning/items/colors.ts";
import { Count } from "#domains/planning/items/params.ts";

const AncestorGroups = Type.Boolean({ default: true, description: "Whether labels of the groups above count" });

const filters = {
  ...ProjectId.properties,
  search: Type.Optional(Type.String({ maxLength: 255, description: "Part of the name or description" })),
  archived: Type.Optional(Type.Boolean({ description: "Only archived labels, or only the others" })),
  with_counts: Type.Boolean({ default: false, description: "Whether to count the issues of each label" }),
  include_ancestor_groups: AncestorGroups,
};

export const ProjectLabelFilters = Type.Object(filters);

export const GroupLabelFilters = Type.Object({
  ...filters,
  include_descendant_groups: Type.Boolean({ default: false, description: "Whether labels of the groups below count" }),
  only_group_labels: Type.Boolean({ default: true, description: "Whether labels of the projects are left out" }),
});

/** A label in a path. */
export const LabelId = Type.Object({
  ...ProjectId.properties,
  label_id: Type.String({ maxLength: 255, description: "Id or name" }),
});

export const ReadLabel = Type.Object({ ...LabelId.properties, include_ancestor_groups: AncestorGroups });

/** A label that a parameter names, as some clients do. */
const named = {
  ...ProjectId.properties,
  label_id: Type.Optional(Type.String({ maxLength: 255, description: "Id or name" })),
  name: Type.Optional(Type.String({ maxLength: 255, description: "Name, instead of `label_id`" })),
};
const NAMED = [["label_id", "name"]];

export const NamedLabel = Type.Object(named, { atLeastOneOf: NAMED, mutuallyExclusive: NAMED });

const Color = Text(MAX_COLOR_LENGTH);
const color = { ...Color, description: "`#rgb`, `#rrggbb` or a colour name of CSS" };
const Description = Type.Optional(Nullable(Type.String({ maxLength: 2000 })));
const Priority = Type.Optional(Nullable(Type.Integer({ ...Count, description: "In this project; null removes it" })));

const creation = {
  ...ProjectId.properties,
  name: Line(255, { description: "Without a comma" }),
  color: Type.String(color),
  description: Description,
  archived: Flag,
};

export const NewGroupLabel = Type.Object(creation);
export const NewProjectLabel = Type.Object({ ...creation, priority: Priority });

const changes = {
  new_name: Type.Optional(Line(255, { description: "Without a comma" })),
  color: Type.Optional(Type.String(color)),
  description: Description,
  archived: Flag,
};
const CHANGED = ["new_name", "color", "description", "archived"];

export const GroupLabelChanges = Type.Object({ ...LabelId.properties, ...changes }, { atLeastOneOf: [CHANGED] });
export const NamedGroupLabelChanges = Type.Object(
  { ...named, ...changes },
  { atLeastOneOf: [...NAMED, CHANGED], mutuallyExclusive: NAMED },
);

const projectChanges = { ...changes, priority: Priority };
const CHANGED_IN_PROJECT = [...CHANGED, "priority"];

export const ProjectLabelChanges = Type.Object(
  { ...LabelId.properties, ...projectChanges },
  { atLeastOneOf: [CHANGED_IN_PROJECT] },
);
export const NamedProjectLabelChanges = Type.Object(
  { ...named, ...projectChanges },
  { atLeastOneOf: [...NAMED, CHANGED_IN_PROJECT], mutuallyExclusive: NAMED },
);

/** How a request names a label. */
export type LabelName = Pick<Static<typeof NamedLabel>, "label_id" | "name">;
export type NewLabel = Omit<Static<typeof NewProjectLabel>, "id">;
export type LabelChanges = Pick<
  Static<typeof NamedProjectLabelChanges>,
  "new_name" | "color" | "description" | "archived" | "priority"
>;
