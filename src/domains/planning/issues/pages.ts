import type { Static } from "typebox";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import type { Listing } from "#db/lists/list-page.ts";
import { type Page, pageOf } from "#http/paging.ts";
import { withLabelDetails } from "#domains/planning/labels/views.ts";
import type { Filters } from "./conditions.ts";
import { ListedIssue } from "./entity.ts";
import { ISSUE } from "./kind.ts";
import { PAGING } from "./list.ts";
import { issues } from "./queries.ts";
import { type IssueViewer, issueViews } from "./views.ts";

export const IssuePage = pageOf(ListedIssue, { ...PAGING, type: "Issue" });

interface ListRequest extends IssueViewer {
  readonly db: Db;
  readonly actor: Actor | null;
  readonly params: Filters;
  readonly page: Page<typeof IssuePage>;
}

export async function pageOfIssues(request: ListRequest, listing: Listing): Promise<Static<typeof ListedIssue>[]> {
  const { db, page, params, ...viewer } = request;
  const views = await issueViews(db, await page.rows(issues(db), listing), viewer);
  return withLabelDetails(db, ISSUE, views, viewer, params.with_labels_details);
}
