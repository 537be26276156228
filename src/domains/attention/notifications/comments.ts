import type { Comment, Item, NotifyingWrite } from "#domains/conversation/items/item.ts";
import { newMentions } from "./mentions.ts";
import { notify } from "./notify.ts";
import { updateTodos } from "#domains/attention/todos/of-items.ts";

/** Asks those whom a comment mentions to look at the item, and mails them and, of a new one, those who take part. */
export async function notifyOfComment(
  { tx, services }: NotifyingWrite,
  item: Item,
  userId: number,
  { id, internal, body }: Comment,
  before?: string,
): Promise<void> {
  const mentioned = await item.kind.readers(tx, item.id, newMentions(body, before ?? null), internal);
  await updateTodos(tx, item, userId, { mentioned });
  await notify(services, tx, item, userId, before === undefined ? ["commented"] : [], { note_id: id, mentioned });
}
