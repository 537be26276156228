import Type from "typebox";
import { administrator, signedIn } from "#access/access.ts";
import { endpoint, type Writing } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { Flag, Id, Text } from "#http/params/vocabulary.ts";
import { lockedUser, namedUser } from "#resources/users/named.ts";
import { UserId } from "#resources/users/params.ts";
import { addEmail, emailOf, emailsOf, removeEmail } from "./actions.ts";
import { type EmailRow, presentEmail, UserEmail } from "./entity.ts";

const scopes = ["read_user"] as const;
const Emails = pageOf(UserEmail, { id: "e.id" });
const OwnEmailId = Type.Object({ email_id: Id });
const EmailId = Type.Object({ ...UserId.properties, ...OwnEmailId.properties });
const NewEmail = Type.Object({ email: Text(1024) });
const NewEmailOfUser = Type.Object({ ...UserId.properties, ...NewEmail.properties, skip_confirmation: Flag });

/** The secondary addresses of users: everybody's own, and for administrators those of others. */
export const userEmails = {
  listOwn: endpoint({
    method: "GET",
    path: "/user/emails",
    summary: "List one's own secondary addresses",
    access: signedIn({ scopes }),
    params: Type.Object({}),
    returns: Emails,
    handle: ({ db, actor, page }) => page(emailsOf(db, actor.user.id), presentEmail),
  }),

  getOwn: endpoint({
    method: "GET",
    path: "/user/emails/:email_id",
    summary: "Get one of one's own secondary addresses",
    access: signedIn({ scopes }),
    params: OwnEmailId,
    returns: UserEmail,
    handle: async ({ db, actor, params }) => presentEmail(await emailOf(db, actor.user.id, params.email_id)),
  }),

  addOwn: endpoint({
    method: "POST",
    path: "/user/emails",
    summary: "Add a secondary address to one's own account",
    access: signedIn(),
    params: NewEmail,
    returns: UserEmail,
    audit: "user_email_added",
    handle: ({ actor, params, ...writing }) => added(writing, actor.user.id, params.email, false),
  }),

  removeOwn: endpoint({
    method: "DELETE",
    path: "/user/emails/:email_id",
    summary: "Remove a secondary address from one's own account",
    access: signedIn(),
    params: OwnEmailId,
    audit: "user_email_removed",
    handle: ({ actor, params, ...writing }) => removed(writing, actor.user.id, params.email_id),
  }),

  list: endpoint({
    method: "GET",
    path: "/users/:id/emails",
    summary: "List the secondary addresses of a user",
    access: administrator({ scopes }),
    params: UserId,
    returns: Emails,
    async handle({ db, databases, params, page }) {
      const { id } = await namedUser(databases, params.id);
      return page(emailsOf(db, id), presentEmail);
    },
  }),

  get: endpoint({
    method: "GET",
    path: "/users/:id/emails/:email_id",
    summary: "Get a secondary address of a user",
    access: administrator({ scopes }),
    params: EmailId,
    returns: UserEmail,
    async handle({ db, databases, params }) {
      const { id } = await namedUser(databases, params.id);
      return presentEmail(await emailOf(db, id, params.email_id));
    },
  }),

  add: endpoint({
    method: "POST",
    path: "/users/:id/emails",
    summary: "Add a secondary address to a user",
    access: administrator(),
    params: NewEmailOfUser,
    returns: UserEmail,
    audit: "user_email_added",
    handle: ({ params: { id, email, skip_confirmation: confirmed = false }, ...writing }) =>
      added(writing, id, email, confirmed),
  }),

  remove: endpoint({
    method: "DELETE",
    path: "/users/:id/emails/:email_id",
    summary: "Remove a secondary address from a user",
    access: administrator(),
    params: EmailId,
    audit: "user_email_removed",
    handle: ({ params, ...writing }) => removed(writing, params.id, params.email_id),
  }),
};

async function added({ tx, audit, services }: Writing, userId: number, email: string, confirmed: boolean) {
  await lockedUser(tx, userId);
  const row = await addEmail(tx, services.jobs, userId, email, confirmed);
  audit({ ...nameOf(row, userId), details: { confirmed } });
  return presentEmail(row);
}

async function removed({ tx, audit }: Writing, userId: number, id: number) {
  await lockedUser(tx, userId);
  audit(nameOf(await removeEmail(tx, userId, id), userId));
}

const nameOf = ({ id, email }: EmailRow, userId: number) =>
  ({ type: "Email", id, name: email, entity: { type: "User", id: userId } }) as const;
