import { type RawBuilder, sql } from "kysely";
import { levelInGroup, levelInProject } from "#access/levels.ts";
import { LEVELS } from "#access/roles.ts";
import type { Db } from "#db/database.ts";
import type { Item } from "./item.ts";
import { groupOpenToUser, SEES_CONFIDENTIAL, usableByUser } from "./visibility.ts";

/** More people of one text are not told. */
const MAX_MENTIONS = 100;
/** People are looked for in the beginning of a text; a longer one is mostly what a program printed. */
const MAX_MENTIONING_LENGTH = 64 * 1024;

const FENCED = /^[ \t>]*(`{3,}|~{3,})/;
// Begins at the first of several backticks, so that a line is read once.
const CODE = /(?<!`)`+[^`]*`+/g;
const MENTION = /(?<![\w./#&@-])@([a-z\d](?:[\w.-]{0,253}[a-z\d])?)(?!\w)/giu;

/** The names of the people whom a text mentions outside of code, in lower case. */
export function mentionsIn(text: string | null): string[] {
  const names = new Set<string>();
  let fence: string | undefined;
  const beginning = text?.slice(0, MAX_MENTIONING_LENGTH) ?? "";
  for (const line of beginning.includes("@") ? beginning.split("\n") : []) {
    const mark = FENCED.exec(line)?.[1];
    if (mark !== undefined && (fence === undefined || mark.startsWith(fence))) {
      fence = fence === undefined ? mark : undefined;
      continue;
    }
    if (fence !== undefined) continue;
    for (const [, name = ""] of line.replaceAll(CODE, " ").matchAll(MENTION)) names.add(name.toLowerCase());
    if (names.size > MAX_MENTIONS) break;
  }
  return [...names].slice(0, MAX_MENTIONS);
}

/** The names that a text mentions and the one before it did not. */
export function newMentions(text: string | null, before: string | null): string[] {
  const known = new Set(mentionsIn(before));
  return mentionsIn(text).filter((name) => !known.has(name));
}

/** An issue that is stored or about to be. */
interface IssueSeen {
  readonly project_id: number;
  readonly confidential: boolean;
  readonly author_id: number | null;
  readonly assignee_ids: readonly number[];
}

/** People by their names in lower case, or by their ids. */
type People = readonly string[] | readonly number[];

/** Whether the row of `users as u` is one of some people, and active. */
const isActiveAmong = (people: People): RawBuilder<boolean> =>
  typeof people[0] === "number"
    ? sql`u.id = any(${people}::bigint[]) and u.state = 'active'`
    : sql`lower(u.username) = any(${people}::text[]) and u.state = 'active'`;

/** Those of some people who may see an issue. */
export async function readersOfIssue(db: Db, issue: IssueSeen, people: People): Promise<number[]> {
  if (people.length === 0) return [];
  const isOwn = sql`u.id = any(${[issue.author_id ?? 0, ...issue.assignee_ids]}::bigint[])`;
  const sees = issue.confidential ? sql`(u.admin or ${isOwn} or ${seesConfidential})` : sql`true`;
  return usersOf(db, issue.project_id, "issues", people, sees);
}

/** Those of some people who may see a merge request, or an internal note on it. */
export async function readersOfMergeRequest(
  db: Db,
  { project_id }: { readonly project_id: number },
  people: People,
  internal = false,
): Promise<number[]> {
  if (people.length === 0) return [];
  const sees = internal ? sql`(u.admin or ${seesConfidential})` : sql`true`;
  return usersOf(db, project_id, "merge_requests", people, sees);
}

const seesConfidential = sql`${sql.raw(levelInProject("u.id"))} >= ${sql.lit(LEVELS[SEES_CONFIDENTIAL])}`;

/** Those of some people who may use a feature of a project and meet a condition. */
async function usersOf(
  db: Db,
  projectId: number,
  feature: "issues" | "merge_requests",
  people: People,
  condition: RawBuilder<unknown>,
): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select u.id from users u, projects p join namespaces n on n.id = p.namespace_id
    where ${isActiveAmong(people)} and p.id = ${projectId}
      and ${usableByUser(feature)} and ${condition} order by u.id`.execute(db);
  return rows.map(({ id }) => id);
}

interface EpicSeen {
  readonly group_id: number;
  readonly confidential: boolean;
}

/** Those of some people who may see an epic. */
export async function readersOfEpic(db: Db, epic: EpicSeen, people: People): Promise<number[]> {
  if (people.length === 0) return [];
  const level = sql.raw(levelInGroup("u.id"));
  const sees = epic.confidential
    ? sql`${level} >= ${sql.lit(LEVELS[SEES_CONFIDENTIAL])}`
    : sql`(${groupOpenToUser} or ${level} >= ${sql.lit(LEVELS.guest)})`;
  const { rows } = await sql<{ id: number }>`
    select u.id from users u, namespaces n
    where ${isActiveAmong(people)} and n.id = ${epic.group_id}
      and (u.admin or ${sees}) order by u.id`.execute(db);
  return rows.map(({ id }) => id);
}

/** Those of some people who may see a note on an item; an internal one is for those who see confidential items by a role. */
export async function readersOfNote(
  db: Db,
  { column, id }: Item,
  people: People,
  internal: boolean,
): Promise<number[]> {
  if (people.length === 0) return [];
  if (column === "issue_id") {
    const { rows } = await sql<IssueSeen>`
      select i.project_id, i.confidential, i.author_id,
        array(select a.user_id from issue_assignees a where a.issue_id = i.id) as assignee_ids
      from issues i where i.id = ${id}`.execute(db);
    const [issue] = rows;
    const seen = issue && internal ? { ...issue, confidential: true, author_id: null, assignee_ids: [] } : issue;
    return seen ? readersOfIssue(db, seen, people) : [];
  }
  if (column === "merge_request_id") {
    const { rows } = await sql<{ project_id: number }>`
      select mr.project_id from merge_requests mr where mr.id = ${id}`.execute(db);
    return rows[0] ? readersOfMergeRequest(db, rows[0], people, internal) : [];
  }
  const { rows } = await sql<EpicSeen>`select e.group_id, e.confidential from epics e where e.id = ${id}`.execute(db);
  const [epic] = rows;
  return epic ? readersOfEpic(db, { ...epic, confidential: epic.confidential || internal }, people) : [];
}
