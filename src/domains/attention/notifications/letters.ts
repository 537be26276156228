import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import type { Letter, Paragraph } from "#mail/letter.ts";
import { idOfRow, type ItemKind, itemUrl, pathOfRow, rowsWithContainer } from "#domains/conversation/items/item.ts";
import type { Notification } from "./notify.ts";
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
  const { kind } = told.item;
  const { word } = kind;
  const link = itemUrl(kind, site, facts.path, facts.iid);
  return {
    to: recipient.email,
    subject: `${facts.path} | ${facts.title} (${kind.sign}${facts.iid})`,
    thread: `${word}-${told.item.id}`,
    unsubscribe,
    paragraphs: [
      `${facts.author ?? "Somebody"} ${sentence(told, recipient, word)}.`,
      ...quoteOf(told, facts),
      { label: `The ${word}`, link },
      `You get this mail because ${REASONS[recipient.reason](kind)}.`,
      { label: `No more mail about this ${word}`, link: unsubscribe },
    ],
  };
}

const REASONS: Readonly<Record<Recipient["reason"], (kind: ItemKind) => string>> = {
  mentioned: () => "you were mentioned",
  assigned: ({ word }) => `the ${word} was assigned to you`,
  unassigned: ({ word }) => `the ${word} was assigned to you until now`,
  subscribed: ({ word }) => `you subscribed to the ${word}`,
  "takes part": ({ word }) => `you take part in the ${word}`,
  watches: ({ container }) => `you watch the ${container}`,
};

const VERBS = { created: "created", closed: "closed", reopened: "reopened" } as const;

/** Says what the author did, as it concerns the reader. */
function sentence({ what, assigned, unassigned, mentioned }: Notification, { id }: Recipient, word: string): string {
  const done = what.flatMap((each) => {
    if (each === "commented") return `commented on the ${word}`;
    return each === "reassigned" ? [] : `${VERBS[each]} the ${word}`;
  });
  if (assigned.includes(id)) done.push(`assigned the ${word} to you`);
  else if (unassigned.includes(id)) done.push(`took the ${word} off you`);
  else if (what.includes("reassigned")) done.push(`changed the assignees of the ${word}`);
  if (mentioned.includes(id)) done.push("mentioned you");
  return new Intl.ListFormat("en-US", { type: "conjunction" }).format(done);
}

/** What somebody wrote, if that is what happened. */
function quoteOf({ what, note_id, mentioned }: Notification, { text }: Facts): Paragraph[] {
  const isWritten = note_id !== undefined || what.includes("created") || mentioned.length > 0;
  if (!isWritten || !text?.trim()) return [];
  return [{ quote: text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)} …` : text }];
}

async function factsOf(db: Db, { item: { kind, id }, author_id, note_id }: Notification): Promise<Facts | undefined> {
  const { alias } = kind;
  const item = sql`
    select ${sql.ref(`${alias}.iid`)}, ${sql.ref(`${alias}.title`)}, ${sql.ref(`${alias}.description`)}, ${pathOfRow(kind)} as path
    from ${rowsWithContainer(kind)} where ${idOfRow(kind)} = ${id}`;
  const { rows } = await sql<Facts>`
    select item.iid, item.title, item.path,
      left(case when ${note_id !== undefined} then note.body else item.description end, ${sql.lit(MAX_TEXT + 1)}) as text,
      (select u.name || ' (@' || u.username || ')' from users u where u.id = ${author_id}) as author
    from (${item}) item left join notes note on note.id = ${note_id ?? null}`.execute(db);
  return rows[0];
}
