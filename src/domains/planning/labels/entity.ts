import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import { escapeHtml } from "#lib/html.ts";
import { textColorOn } from "#domains/planning/items/colors.ts";
import type { LabelRow } from "./queries.ts";

const exact = { additionalProperties: false };
const Text = Type.String();
const Count = Type.Optional(Type.Integer({ description: "With `with_counts`: as far as the caller may see them" }));

const details = {
  id: Type.Integer(),
  name: Text,
  description: Nullable(Text),
  description_html: Type.String({ description: "The description as escaped text" }),
  text_color: Type.String({ description: "The colour of text that is read best on `color`" }),
  color: Type.String({ description: "`#rrggbb`" }),
};

/** A label where something else has it, such as an issue or a label event. */
export const LabelDetails = Type.Object(details, { ...exact, title: "LabelDetails" });

/** The labels of an item in a response. */
export const LabelsOfItem = Type.Array(Type.String(), { description: "Names, sorted" });

/** The same in a response to a request that may want more. */
export const DetailedLabels = Type.Array(Type.Union([Type.String(), LabelDetails]), {
  description: "Names, sorted; with `with_labels_details` objects",
});

/** A label of a project or group. */
export const Label = Type.Object(
  {
    ...details,
    archived: Type.Boolean(),
    open_issues_count: Count,
    closed_issues_count: Count,
    open_merge_requests_count: Count,
    subscribed: Type.Boolean(),
    priority: Nullable(Type.Integer({ description: "In the project of the request; lower numbers come first" })),
    is_project_label: Type.Boolean(),
  },
  { ...exact, title: "Label" },
);

/** The columns that are shown wherever a label is. */
export interface LabelDetailsRow {
  readonly id: number;
  readonly name: string;
  readonly description: string | null;
  readonly color: string;
}

export interface LabelCounts {
  readonly open_issues_count: number;
  readonly closed_issues_count: number;
}

export const presentLabelDetails = (row: LabelDetailsRow): Static<typeof LabelDetails> => ({
  id: row.id,
  name: row.name,
  description: row.description,
  description_html: escapeHtml(row.description ?? ""),
  text_color: textColorOn(row.color),
  color: row.color,
});

export const presentLabel = (row: LabelRow, counts?: LabelCounts): Static<typeof Label> => ({
  ...presentLabelDetails(row),
  archived: row.archived,
  ...(counts && {
    open_issues_count: counts.open_issues_count,
    closed_issues_count: counts.closed_issues_count,
    open_merge_requests_count: 0,
  }),
  subscribed: false,
  priority: row.priority,
  is_project_label: row.project_id !== null,
});
