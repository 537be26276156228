import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import { UserSummary } from "#domains/identity/users/entity.ts";
import { textColorOn } from "#domains/planning/items/colors.ts";
import type { Votes } from "#domains/planning/items/counts.ts";
import { itemUrl } from "#domains/conversation/items/item.ts";
import { referencesTo } from "#domains/planning/items/references.ts";
import { Issue } from "#domains/planning/issues/entity.ts";
import { DetailedLabels, LabelsOfItem } from "#domains/planning/labels/entity.ts";
import type { InheritedDates } from "./dates.ts";
import { EPIC } from "./kind.ts";
import type { DescribedEpic, EpicRow } from "./queries.ts";

const exact = { additionalProperties: false };
const Text = Type.String();
const Whole = Type.Integer();
const Time = Type.String({ format: "date-time" });
const Day = Nullable(Type.String({ format: "date" }));

const epic = {
  id: Whole,
  iid: Whole,
  group_id: Whole,
  parent_id: Nullable(Type.Integer({ description: "Null also if the caller may not see the parent" })),
  parent_iid: Nullable(Whole),
  title: Text,
  description: Nullable(Text),
  confidential: Type.Boolean(),
  author: Nullable(UserSummary),
  color: Text,
  text_color: Text,
  start_date: Day,
  start_date_is_fixed: Type.Boolean(),
  start_date_fixed: Day,
  start_date_from_inherited_source: Type.Union([Type.String({ format: "date" }), Type.Null()], {
    description: "The first start date of its issues and child epics that the caller may see",
  }),
  start_date_from_milestones: Type.Null(),
  end_date: Type.Union([Type.String({ format: "date" }), Type.Null()], { description: "The same as `due_date`" }),
  due_date: Day,
  due_date_is_fixed: Type.Boolean(),
  due_date_fixed: Day,
  due_date_from_inherited_source: Type.Union([Type.String({ format: "date" }), Type.Null()], {
    description: "The last due date of its issues and child epics that the caller may see",
  }),
  due_date_from_milestones: Type.Null(),
  state: Type.Enum(["opened", "closed"]),
  web_url: Text,
  web_edit_url: Text,
  references: Type.Object({ short: Text, relative: Text, full: Text }, exact),
  created_at: Time,
  updated_at: Time,
  closed_at: Nullable(Time),
  labels: LabelsOfItem,
  upvotes: Whole,
  downvotes: Whole,
  imported: Type.Boolean(),
  imported_from: Type.Literal("none"),
  work_item_id: Type.Null(),
  _links: Type.Object({ self: Text, epic_issues: Text, group: Text, parent: Nullable(Text) }, exact),
};

/** An epic as other items show it. */
export const Epic = Type.Object(epic, { ...exact, title: "Epic" });
export type Epic = Static<typeof Epic>;

/** One epic, with what depends on the caller. */
export const SingleEpic = Type.Object({ ...epic, subscribed: Type.Boolean() }, { ...exact, title: "SingleEpic" });
export type SingleEpic = Static<typeof SingleEpic>;

/** An epic in lists of epics, and by itself, for requests that may want details of its labels. */
export const ListedEpic = Type.Object({ ...epic, labels: DetailedLabels }, { ...exact, title: "ListedEpic" });
export const DetailedEpic = Type.Object(
  { ...SingleEpic.properties, labels: DetailedLabels },
  { ...exact, title: "DetailedEpic" },
);

/** An issue in the list of an epic. */
export const IssueOfEpic = Type.Object(
  { ...Issue.properties, epic_issue_id: Whole, relative_position: Whole },
  { ...exact, title: "IssueOfEpic" },
);

/** That an issue is in an epic; its id is the `epic_issue_id` of the issue. */
export const EpicIssue = Type.Object({ id: Whole, epic: Epic, issue: Issue }, { ...exact, title: "EpicIssue" });

/** What an epic is presented with from other tables. */
interface Related {
  readonly site: string;
  /** The full path of its group, and that of the group that the request names. */
  readonly path: string;
  readonly from: string;
  readonly parent: EpicRow | undefined;
  readonly author: UserSummary | undefined;
  readonly inherited: InheritedDates | undefined;
  readonly labels: Epic["labels"];
  readonly votes: Votes;
}

export function presentEpic(
  row: DescribedEpic,
  { site, path, from, parent, author, inherited, labels, votes }: Related,
): Epic {
  const start = inherited?.start_date ?? null;
  const due = inherited?.due_date ?? null;
  const dueDate = row.due_date_is_fixed ? row.due_date_fixed : due;
  const url = itemUrl(EPIC, site, path, row.iid);
  return {
    id: row.id,
    iid: row.iid,
    group_id: row.group_id,
    parent_id: parent?.id ?? null,
    parent_iid: parent?.iid ?? null,
    title: row.title,
    description: row.description,
    confidential: row.confidential,
    author: author ?? null,
    color: row.color,
    text_color: textColorOn(row.color),
    start_date: row.start_date_is_fixed ? row.start_date_fixed : start,
    start_date_is_fixed: row.start_date_is_fixed,
    start_date_fixed: row.start_date_fixed,
    start_date_from_inherited_source: start,
    start_date_from_milestones: null,
    end_date: dueDate,
    due_date: dueDate,
    due_date_is_fixed: row.due_date_is_fixed,
    due_date_fixed: row.due_date_fixed,
    due_date_from_inherited_source: due,
    due_date_from_milestones: null,
    state: row.state,
    web_url: url,
    web_edit_url: `${url}/edit`,
    references: referencesTo(EPIC, row.iid, path, from),
    created_at: row.created_at,
    updated_at: row.updated_at,
    closed_at: row.closed_at,
    labels,
    upvotes: votes.upvotes,
    downvotes: votes.downvotes,
    imported: false,
    imported_from: "none",
    work_item_id: null,
    _links: linksOf(site, row, parent),
  };
}

function linksOf(site: string, row: EpicRow, parent: EpicRow | undefined): Epic["_links"] {
  const addressOf = ({ group_id, iid }: EpicRow) => `${site}/api/v4/groups/${group_id}/epics/${iid}`;
  return {
    self: addressOf(row),
    epic_issues: `${addressOf(row)}/issues`,
    group: `${site}/api/v4/groups/${row.group_id}`,
    parent: parent ? addressOf(parent) : null,
  };
}
