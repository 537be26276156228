import Type from "typebox";
import { defineJob } from "#jobs/define.ts";
import { type Place, takeDue, toldOf } from "./expiry.ts";
import { letterOf, mailedSite } from "./letters.ts";
import { isFresh, removeOldLinks } from "./links.ts";
import { ownerOf } from "./recipients.ts";
import { mailKind, mailTo, resetAskedKind } from "./send.ts";

const none = Type.Object({}, { additionalProperties: false });

/** Sends a mail. It is done when the server has taken it: a worker that dies before that is why it may come twice. */
export const sendMail = defineJob({
  ...mailKind,
  async run({ id, payload, services, step }) {
    // Derived, so that the mail that comes twice has the same link both times.
    const secret = (await services.sealing.derive(`mailed_links ${id}`)).toString("base64url");
    const letter = await step((tx) => letterOf(tx, payload, { site: mailedSite(services.config), secret }));
    if (letter) await services.mail.send({ id, ...letter });
  },
});

/** Mails a link to whoever forgot their password, where the address is a confirmed one. */
export const answerResetAsked = defineJob({
  ...resetAskedKind,
  run: ({ payload: { email }, services, transaction }) =>
    transaction(async (tx) => {
      const userId = await ownerOf(tx, email);
      if (userId === undefined || (await isFresh(tx, { purpose: "reset", user_id: userId, email }))) return;
      await mailTo(services.jobs, tx, { kind: "reset_password", userId, email });
    }),
});

/** Tells people of their tokens, and Owners of their group's service accounts', before they expire. */
export const sendExpiryNotices = defineJob({
  name: "tokens.expiry_notices",
  queue: "default",
  payload: none,
  cron: "13 * * * *",
  async run({ services, step, signal }) {
    let last: Place | undefined;
    do {
      const after: Place | undefined = last;
      const due = await step(async (tx) => {
        const tokens = await takeDue(tx, after);
        for (const { id, user_id } of tokens) {
          for (const userId of await toldOf(tx, user_id)) {
            await mailTo(services.jobs, tx, { kind: "token_expiring", userId, tokenId: id });
          }
        }
        return tokens;
      });
      signal.throwIfAborted();
      last = due.at(-1);
    } while (last);
  },
});

/** Links end by the clock; this only takes away the rows. */
export const removeEndedLinks = defineJob({
  name: "mails.remove_ended_links",
  queue: "default",
  payload: none,
  cron: "29 3 * * *",
  async run({ step, signal }) {
    while (await step(removeOldLinks)) signal.throwIfAborted();
  },
});
