import { itemAt, type ItemKind } from "#domains/conversation/items/item.ts";
import { defineJob } from "#jobs/define.ts";
import { mailedSite } from "#domains/foundation/mails/letters.ts";
import { notificationKind, queueMailsKind } from "./notify.ts";
import { takeMails } from "./budget.ts";
import { candidatesOf } from "./candidates.ts";
import { notificationLetter } from "./letters.ts";
import { recipientOf, recipientsAmong } from "./recipients.ts";
import { UNSUBSCRIBE, unsubscribeToken } from "./unsubscribe.ts";

const BATCH_SIZE = 100;

/**
 * Queues the mails to a batch of people, and itself for the next ones. Both are part of the transaction that ends it, so
 * that nobody's mail is queued twice.
 */
const queueNotifications = (kinds: readonly ItemKind[]) =>
  defineJob({
    ...queueMailsKind,
    run: ({ payload: { after, ...queued }, services, transaction }) =>
      transaction(async (tx) => {
        const told = { ...queued, item: itemAt(kinds, queued.item) };
        const ids = await candidatesOf(tx, told, after, BATCH_SIZE);
        const recipients = await recipientsAmong(tx, told, ids);
        const affordable = await takeMails(tx, told.author_id, recipients.length, services.config.mailPerAuthor);
        for (const { id } of recipients.slice(0, affordable)) {
          await services.jobs.add(tx, notificationKind, { ...queued, user_id: id });
        }
        if (affordable < recipients.length) {
          services.log.warn(
            { author_id: told.author_id, item: queued.item },
            "left out mail beyond the hour's of its author",
          );
          return;
        }
        const last = ids.at(-1);
        if (last !== undefined && ids.length === BATCH_SIZE) {
          await services.jobs.add(tx, queueMailsKind, { ...queued, after: last });
        }
      }),
  });

/** Mails one person, if they may still see it and want it; at least once, as every mail. */
const sendNotification = (kinds: readonly ItemKind[]) =>
  defineJob({
    ...notificationKind,
    async run({ id, payload: { user_id, ...mailed }, services, step }) {
      const told = { ...mailed, item: itemAt(kinds, mailed.item) };
      const site = mailedSite(services.config);
      const token = await unsubscribeToken(services.sealing, { userId: user_id, item: told.item });
      const unsubscribe = `${site}${UNSUBSCRIBE}?token=${token}`;
      const letter = await step(async (tx) => {
        const recipient = await recipientOf(tx, told, user_id);
        return recipient && notificationLetter(tx, told, recipient, { site, unsubscribe });
      });
      if (letter) await services.mail.send({ id, ...letter });
    },
  });

/** The jobs that mail people about items of some kinds. */
export const notificationJobs = (kinds: readonly ItemKind[]) => [queueNotifications(kinds), sendNotification(kinds)];
