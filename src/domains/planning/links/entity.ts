import Type, { type Static } from "typebox";
import { Epic } from "#domains/planning/epics/entity.ts";
import { Issue, SingleIssue } from "#domains/planning/issues/entity.ts";
import { LINK_TYPES } from "./queries.ts";
import type { LinkView } from "./views.ts";

const exact = { additionalProperties: false };
const Time = Type.String({ format: "date-time" });
const LinkTypeName = Type.Enum([...LINK_TYPES]);
const linkOfItem = { link_type: LinkTypeName, link_created_at: Time, link_updated_at: Time };

/** An issue that is linked to the one in the path. */
export const LinkedIssue = Type.Object(
  { ...SingleIssue.properties, issue_link_id: Type.Integer(), ...linkOfItem },
  { ...exact, title: "LinkedIssue" },
);

/** A link between issues, told from the issue in the path, which is the source. */
export const IssueLink = Type.Object(
  { id: Type.Integer(), source_issue: Issue, target_issue: Issue, link_type: LinkTypeName },
  { ...exact, title: "IssueLink" },
);

/** An epic that is linked to the one in the path. */
export const LinkedEpic = Type.Object(
  { ...Epic.properties, related_epic_link_id: Type.Integer(), ...linkOfItem },
  { ...exact, title: "LinkedEpic" },
);

/** A link between epics. */
export const EpicLink = Type.Object(
  {
    id: Type.Integer(),
    source_epic: Epic,
    target_epic: Epic,
    link_type: LinkTypeName,
    created_at: Time,
    updated_at: Time,
  },
  { ...exact, title: "EpicLink" },
);

const GraphNode = Type.Object(
  {
    id: Type.Integer(),
    iid: Type.Integer(),
    project_id: Type.Integer(),
    title: Type.String(),
    state: Type.Enum(["opened", "closed"]),
    confidential: Type.Boolean(),
    web_url: Type.String(),
    reference: Type.String({ description: "The full reference, `group/project#1`" }),
  },
  { ...exact, title: "LinkGraphNode" },
);

const GraphEdge = Type.Object(
  {
    id: Type.Integer(),
    source_id: Type.Integer({ description: "The id of the issue that blocks, for `blocks`" }),
    target_id: Type.Integer(),
    link_type: Type.Enum(["relates_to", "blocks"]),
  },
  { ...exact, title: "LinkGraphEdge" },
);

/** The issues around one, as far as the caller may see them, and the links between them. */
export const LinkGraph = Type.Object(
  {
    nodes: Type.Array(GraphNode),
    edges: Type.Array(GraphEdge),
    truncated: Type.Boolean({ description: "Whether there are more than the limits of this response allow" }),
  },
  { ...exact, title: "LinkGraph" },
);

export const presentIssueLink = ({ link, source, target, type }: LinkView<Issue>): Static<typeof IssueLink> => ({
  id: link.id,
  source_issue: source,
  target_issue: target,
  link_type: type,
});

export const presentEpicLink = ({ link, source, target, type }: LinkView<Epic>): Static<typeof EpicLink> => ({
  id: link.id,
  source_epic: source,
  target_epic: target,
  link_type: type,
  created_at: link.created_at,
  updated_at: link.updated_at,
});
