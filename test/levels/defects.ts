import pg from "pg";

/** A mistake in the SQL that must be noticed: one text is replaced by another. */
export interface Defect {
  readonly name: string;
  readonly where: "statements" | "functions";
  readonly right: string;
  readonly mistaken: string;
}

type Mistake = readonly [name: string, right: string, mistaken: string];

const STATEMENTS: readonly Mistake[] = [
  ["a membership counts on the day that it ends", "expires_at > (now()", "expires_at >= (now()"],
  ["ends of memberships are forgotten", "(m.expires_at is null or", "(true or"],
  ["ends of shares are forgotten", "(s.expires_at is null or", "(true or"],
  ["shares of groups above are forgotten", "s.group_id = any(n.traversal_ids)", "s.group_id = n.id"],
  ["members of groups above are forgotten", "m.group_id = any(n.traversal_ids)", "m.group_id = n.id"],
  ["members above the invited group are forgotten", "m.group_id = any(w.traversal_ids)", "m.group_id = w.id"],
  ["minimal access is passed on", "access_level >= 10 and", "access_level >= 5 and"],
  ["a share gives all that it allows", "least(s.access_level, m.access_level)", "s.access_level"],
  ["a share gives all that the member has", "least(s.access_level, m.access_level)", "m.access_level"],
  ["a project is in two parts", "p.namespace_id not in", "0 not in"],
  ["a feature for members is for everybody", `_access_level" = 'enabled'`, `_access_level" <> 'disabled'`],
  ["a disabled feature is for members", `_access_level" <> 'disabled'`, `_access_level" <> 'off'`],
  ["confidential issues are for everybody", "not i.confidential or", "true or"],
  ["confidential issues are not for their author", "i.author_id = ", "0 = "],
  ["confidential issues are not for who works on them", "own.issue_id = i.id", "own.issue_id = 0"],
  ["confidential epics are for everybody", "not e.confidential or", "true or"],
  ["anonymous callers see confidential issues", "(not i.confidential or false)", "true"],
  ["internal notes are for everybody", "(not note.internal and", "(true and"],
  ["notes that name a hidden issue are for everybody", "i.id = note.other_issue_id and", "true or"],
  ["those who work on a confidential issue are not told", "u.id = any(", "0 = any("],
  ["external users are told of what is internal", "when u.external then 20", "when false then 20"],
  ["administrators are not told", "(u.admin or", "(false or"],
  ["a list of members takes a share for a membership", "least(m.access_level, s.most)", "m.access_level"],
];

const FUNCTIONS: readonly Mistake[] = [
  ["a membership counts on the day that it ends", "m.expires_at > (now()", "m.expires_at >= (now()"],
  ["a share counts on the day that it ends", "s.expires_at > (now()", "s.expires_at >= (now()"],
  ["ends of shares are forgotten", "s.expires_at is null or", "true or"],
  ["a share of a group gives all that it allows", "least(s.access_level, own.access_level)", "s.access_level"],
  ["a share of a project gives all that it allows", "least(s.access_level, m.access_level)", "s.access_level"],
  ["what is below a group is forgotten", "n.traversal_ids < root_end", "n.traversal_ids = root"],
  ["the least level is not enough", ">= at_least", "> at_least"],
];

const defectsIn = (where: Defect["where"], mistakes: readonly Mistake[]): Defect[] =>
  mistakes.map(([name, right, mistaken]) => ({ name, where, right, mistaken }));

export const DEFECTS: readonly Defect[] = [
  ...defectsIn("statements", STATEMENTS),
  ...defectsIn("functions", FUNCTIONS),
];

/** Runs `work` with a defect in the SQL; undefined if the correct text is not found. */
export const withDefect = <T>(url: string, defect: Defect, work: () => Promise<T>): Promise<T | undefined> =>
  defect.where === "functions" ? withFunctions(url, defect, work) : withStatements(defect, work);

/** The functions are not restored, because each defect has its own database. */
async function withFunctions<T>(url: string, { right, mistaken }: Defect, work: () => Promise<T>) {
  const client = new pg.Client(url);
  await client.connect();
  let planted = 0;
  try {
    const { rows } = await client.query<{ text: string }>(`
      select pg_get_functiondef(p.oid) as text from pg_proc p join pg_language l on l.oid = p.prolang
      where p.pronamespace = 'public'::regnamespace and l.lanname in ('sql', 'plpgsql')`);
    for (const { text } of rows.filter((row) => row.text.includes(right))) {
      await client.query(text.replaceAll(right, mistaken));
      planted++;
    }
  } finally {
    await client.end();
  }
  return planted > 0 ? work() : undefined;
}

/** Changes statements as they are sent; `work` must open its own connections, which have prepared none of them. */
async function withStatements<T>({ right, mistaken }: Defect, work: () => Promise<T>) {
  const { query } = pg.Client.prototype;
  let planted = 0;
  pg.Client.prototype.query = function (this: pg.Client, given: { text?: string }, ...rest: never[]) {
    const isRight = !given.text?.includes(right);
    if (!isRight) planted++;
    const sent = isRight ? given : { ...given, text: given.text?.replaceAll(right, mistaken) };
    return (query as (...args: unknown[]) => unknown).call(this, sent, ...rest);
  } as typeof query;
  try {
    const done = await work();
    return planted > 0 ? done : undefined;
  } finally {
    pg.Client.prototype.query = query;
  }
}
