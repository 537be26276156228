import type { Tx } from "#db/database.ts";
import type { Item, ItemKind } from "#domains/conversation/items/item.ts";
import { createNotes } from "#domains/conversation/notes/create.ts";

/**
 * Records what somebody changed in an item, one system note for each change. Notes that name another item are for those
 * who may see both.
 */
export async function recordChanges(tx: Tx, item: Item, userId: number, bodies: readonly string[], other?: Item) {
  const drafts = bodies.map((body) => ({ body, authorId: userId, system: true, other }));
  await createNotes(tx, item, drafts);
}

type Columns = Readonly<Record<string, unknown>>;

const inWords = new Intl.DateTimeFormat("en-US", { dateStyle: "long", timeZone: "UTC" });
const dateChanged = (name: string) => (_: unknown, to: unknown) =>
  to === null ? `removed ${name}` : `changed ${name} to ${inWords.format(new Date(String(to)))}`;

/** What is said of a change of each column, in the order of the notes. */
const SENTENCES: Readonly<Record<string, (from: unknown, to: unknown, name: ItemKind["word"]) => string | false>> = {
  title: (from, to) => `changed title from **{-${String(from)}-}** to **{+${String(to)}+}**`,
  description: () => "changed the description",
  confidential: (_, to, name) => (to ? `made the ${name} confidential` : `made the ${name} visible to everyone`),
  // Null is unlocked as well.
  discussion_locked: (from, to, name) =>
    Boolean(from) !== Boolean(to) && `${to ? "locked" : "unlocked"} the discussion in this ${name}`,
  target_branch: (from, to) => `changed target branch from \`${String(from)}\` to \`${String(to)}\``,
  issue_type: (from, to) => `changed type from ${String(from)} to ${String(to)}`,
  // Not by its title: the project may leave the group that the milestone belongs to.
  milestone_id: (_, to) => (to === null ? "removed milestone" : "changed milestone"),
  weight: (_, to) => (to === null ? "removed the weight" : `changed weight to **${String(to)}**`),
  color: (_, to) => `changed color to **${String(to)}**`,
  start_date: dateChanged("start date"),
  due_date: dateChanged("due date"),
  start_date_fixed: dateChanged("fixed start date"),
  due_date_fixed: dateChanged("fixed due date"),
  state: (_, to) => (to === "closed" ? "closed" : "reopened"),
};

/** Says what changes with the new values of some columns; columns that nobody would ask about are passed over. */
export const changesOf = ({ word }: ItemKind, before: Columns, after: Columns): string[] =>
  Object.entries(SENTENCES).flatMap(([column, say]) =>
    column in after ? say(before[column], after[column], word) || [] : [],
  );

/** Joins two lists of names to one sentence: `assigned to @ada and @bob and unassigned @eve`. */
const both = (...parts: readonly (string | false)[]) => parts.filter(Boolean).join(" and ");

const mentions = new Intl.ListFormat("en-US", { type: "conjunction" });
const mentionsOf = (usernames: readonly string[]) => mentions.format(usernames.map((name) => `@${name}`));

export const assigneesChanged = (added: readonly string[], removed: readonly string[]): string =>
  both(
    added.length > 0 && `assigned to ${mentionsOf(added)}`,
    removed.length > 0 && `unassigned ${mentionsOf(removed)}`,
  );

export const reviewersChanged = (added: readonly string[], removed: readonly string[]): string =>
  both(
    added.length > 0 && `requested review from ${mentionsOf(added)}`,
    removed.length > 0 && `removed review request for ${mentionsOf(removed)}`,
  );

const labelsOf = (ids: readonly number[]) =>
  `${ids.map((id) => `~${id}`).join(" ")} ${ids.length === 1 ? "label" : "labels"}`;

export const labelsChanged = (added: readonly number[], removed: readonly number[]): string =>
  both(added.length > 0 && `added ${labelsOf(added)}`, removed.length > 0 && `removed ${labelsOf(removed)}`);
