import Type from "typebox";
import { defineJob } from "#jobs/define.ts";
import type { Sealing } from "#lib/sealing.ts";
import { type ExpiryCursor, claimDueNotices, noticeRecipients } from "./expiry.ts";
import { invitationSecret } from "./invitations.ts";
import { letterOf, mailedSite } from "./letters.ts";
import { isFresh, removeOldLinks } from "./links.ts";
import { ownerOf } from "./recipients.ts";
import { type Mail, mailKind, mailTo, resetRequestKind } from "./send.ts";

const none = Type.Object({}, { additionalProperties: false });

/** Sends a mail, at least once: if the worker dies before the server's acceptance is recorded, it is sent again. */
export const sendMail = defineJob({
  ...mailKind,
  async run({ id, payload, services, step }) {
    const secret = await secretOf(services.sealing, id, payload);
    const letter = await step((tx) => letterOf(tx, payload, { site: mailedSite(services.config), secret }));
    if (letter) await services.mail.send({ id, ...letter });
  },
});

/** The secret is derived from the job's id, so that a mail sent twice has the same link both times. */
const secretOf = async (sealing: Sealing, id: string, mail: Mail): Promise<string> =>
  mail.kind === "invitation"
    ? invitationSecret(sealing, mail.nonce)
    : (await sealing.derive(`mailed_links ${id}`)).toString("base64url");

/** Mails a link for choosing a new password, if a user has confirmed the address. */
export const mailResetLink = defineJob({
  ...resetRequestKind,
  run: ({ payload: { email }, services, transaction }) =>
    transaction(async (tx) => {
      const userId = await ownerOf(tx, email);
      if (userId === undefined || (await isFresh(tx, { purpose: "reset", user_id: userId, email }))) return;
      await mailTo(services.jobs, tx, { kind: "reset_password", userId, email });
    }),
});

/** Notifies people before their tokens expire, and Owners before those of their group's service accounts do. */
export const sendExpiryNotices = defineJob({
  name: "tokens.expiry_notices",
  queue: "default",
  payload: none,
  cron: "13 * * * *",
  async run({ services, step, signal }) {
    let last: ExpiryCursor | undefined;
    do {
      const after: ExpiryCursor | undefined = last;
      const due = await step(async (tx) => {
        const tokens = await claimDueNotices(tx, after);
        for (const { id, user_id } of tokens) {
          for (const userId of await noticeRecipients(tx, user_id)) {
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

/** Expired links already have no effect; this only deletes their rows. */
export const removeEndedLinks = defineJob({
  name: "mails.remove_ended_links",
  queue: "default",
  payload: none,
  cron: "29 3 * * *",
  async run({ step, signal }) {
    while (await step(removeOldLinks)) signal.throwIfAborted();
  },
});
