import { type RawBuilder, sql } from "kysely";
import { mayUse, type ProjectSeen } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { issueVisibleIn, issueVisibleTo } from "#domains/planning/items/visibility.ts";
import type { LabelCounts } from "./entity.ts";

/** A project has no bound on its issues, and labels of groups none on their links: the newest ones are counted. */
const MAX_ISSUES = 20_000;

type Counts = (labelId: number) => LabelCounts;

const NONE: LabelCounts = { open_issues_count: 0, closed_issues_count: 0 };

/** How many issues of a project have each label, as far as the actor may see them. */
export async function countsInProject(
  db: Db,
  project: ProjectSeen,
  actor: Actor | null,
  ids: readonly number[],
): Promise<Counts> {
  if (!mayUse(actor, project, "issues")) return () => NONE;
  return countsFrom(
    db,
    sql`(
      select i.id, i.state from issues i where i.project_id = ${project.id} and ${issueVisibleIn(project, actor)}
      order by i.iid desc limit ${sql.lit(MAX_ISSUES)}
    ) i join label_links ll on ll.issue_id = i.id and ll.label_id = any(${ids}::bigint[])`,
  );
}

/** How many issues of all projects have each label, as far as the actor may see them. */
export const countsEverywhere = (db: Db, actor: Actor | null, ids: readonly number[]): Promise<Counts> =>
  countsFrom(
    db,
    sql`unnest(${ids}::bigint[]) l (id) cross join lateral (
      select ll.label_id, ll.issue_id from label_links ll where ll.label_id = l.id and ll.issue_id is not null
      order by ll.issue_id desc limit ${Math.floor(MAX_ISSUES / Math.max(1, ids.length))}
    ) ll join issues i on i.id = ll.issue_id join projects p on p.id = i.project_id and ${issueVisibleTo(actor)}`,
  );

async function countsFrom(db: Db, from: RawBuilder<unknown>): Promise<Counts> {
  const { rows } = await sql<LabelCounts & { label_id: number }>`
    select ll.label_id, count(*) filter (where i.state = 'opened') as open_issues_count,
      count(*) filter (where i.state = 'closed') as closed_issues_count
    from ${from} group by ll.label_id`.execute(db);
  const byLabel = new Map(rows.map((row) => [row.label_id, row]));
  return (id) => byLabel.get(id) ?? NONE;
}
