import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import type { Letter, Paragraph } from "#mail/letter.ts";
import { fullPath } from "#domains/foundation/namespaces/queries.ts";
import { epicUrl } from "#domains/planning/epics/entity.ts";
import { issueUrl } from "#domains/planning/issues/present.ts";
import type { Notification } from "#domains/planning/items/notifications.ts";
import { referencesTo } from "#domains/planning/items/references.ts";
import type { Recipient } from "./recipients.ts";

/** A longer text is cut: the rest is where the link leads. */
const MAX_TEXT = 10_000;

/** What is mailed of an item, read when the letter is written. */
interface Facts {
  readonly iid: number;
  readonly title: string;
  readonly path: string;
  /** The note, or else the description. */
  readonly text: string | null;
  readonly author: string | null;
}

/** Writes the mail to one person; undefined if the item is gone. */
export async function notificationLetter(
  db: Db,
  told: Notification,
  recipient: Recipient,
  { site, unsubscribe }: { readonly site: string; readonly unsubscribe: string },
): Promise<Omit<Letter, "id"> | undefined> {
  const facts = await factsOf(db, told);
  if (!facts) return undefined;
  const kind = told.item.column === "issue_id" ? "issue" : "epic";
  const { short } = referencesTo(kind, facts.iid, facts.path, "");
  const link = (kind === "issue" ? issueUrl : epicUrl)(site, facts.path, facts.iid);
  return {
    to: recipient.email,
    subject: `${facts.path} | ${facts.title} (${short})`,
    thread: `${kind}-${told.item.id}`,
    unsubscribe,
    paragraphs: [
      `${facts.author ?? "Somebody"} ${sentence(told, recipient, kind)}.`,
      ...quoteOf(told, facts),
      { label: `The ${kind}`, link },
      `You get this mail because ${REASONS[recipient.reason](kind)}.`,
      { label: `No more mail about this ${kind}`, link: unsubscribe },
    ],
  };
}

const REASONS: Readonly<Record<Recipient["reason"], (kind: string) => string>> = {
  mentioned: () => "you were mentioned",
  assigned: (kind) => `the ${kind} was assigned to you`,
  unassigned: (kind) => `the ${kind} was assigned to you until now`,
  subscribed: (kind) => `you subscribed to the ${kind}`,
  "takes part": (kind) => `you take part in the ${kind}`,
  watches: (kind) => (kind === "issue" ? "you watch the project" : "you watch the group"),
};

const VERBS = { created: "created", closed: "closed", reopened: "reopened" } as const;

/** Says what the author did, as it concerns the reader. */
function sentence({ what, assigned, unassigned, mentioned }: Notification, { id }: Recipient, kind: string): string {
  const done = what.flatMap((each) => {
    if (each === "commented") return `commented on the ${kind}`;
    return each === "reassigned" ? [] : `${VERBS[each]} the ${kind}`;
  });
  if (assigned.includes(id)) done.push(`assigned the ${kind} to you`);
  else if (unassigned.includes(id)) done.push(`took the ${kind} off you`);
  else if (what.includes("reassigned")) done.push(`changed the assignees of the ${kind}`);
  if (mentioned.includes(id)) done.push("mentioned you");
  return new Intl.ListFormat("en-US", { type: "conjunction" }).format(done);
}

/** What somebody wrote, if that is what happened. */
function quoteOf({ what, note_id, mentioned }: Notification, { text }: Facts): Paragraph[] {
  const isWritten = note_id !== undefined || what.includes("created") || mentioned.length > 0;
  if (!isWritten || !text?.trim()) return [];
  return [{ quote: text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)} …` : text }];
}

async function factsOf(db: Db, { item: { column, id }, author_id, note_id }: Notification): Promise<Facts | undefined> {
  const item =
    column === "issue_id"
      ? sql`select i.iid, i.title, i.description, ${fullPath("n")} || '/' || p.path as path
          from issues i join projects p on p.id = i.project_id join namespaces n on n.id = p.namespace_id
          where i.id = ${id}`
      : sql`select e.iid, e.title, e.description, ${fullPath("n")} as path
          from epics e join namespaces n on n.id = e.group_id where e.id = ${id}`;
  const { rows } = await sql<Facts>`
    select item.iid, item.title, item.path,
      left(case when ${note_id !== undefined} then note.body else item.description end, ${sql.lit(MAX_TEXT + 1)}) as text,
      (select u.name || ' (@' || u.username || ')' from users u where u.id = ${author_id}) as author
    from (${item}) item left join notes note on note.id = ${note_id ?? null}`.execute(db);
  return rows[0];
}
