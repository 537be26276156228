import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import type { Listing } from "#db/lists/list-page.ts";
import { type Page, pageOf } from "#http/paging.ts";
import type { Filters } from "./conditions.ts";
import { Issue } from "./entity.ts";
import { PAGING } from "./list.ts";
import { issues } from "./queries.ts";
import { type IssueViewer, issueViews } from "./views.ts";

export const IssuePage = pageOf(Issue, PAGING);

interface ListRequest extends IssueViewer {
  readonly db: Db;
  readonly actor: Actor | null;
  readonly params: Filters;
  readonly page: Page<typeof IssuePage>;
}

export async function pageOfIssues(request: ListRequest, listing: Listing): Promise<Issue[]> {
  const { db, page, params, ...viewer } = request;
  const labelDetails = params.with_labels_details === true;
  return issueViews(db, await page.rows(issues(db), listing), { ...viewer, labelDetails });
}
