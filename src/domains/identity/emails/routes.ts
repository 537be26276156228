import Type from "typebox";
import { administrator, signedIn } from "#access/access.ts";
import { type Conditional, endpoint, type WriteContext } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { Flag, Id, Text } from "#http/params/vocabulary.ts";
import { lockedUser, userById } from "#domains/identity/users/named.ts";
import { UserId } from "#domains/identity/users/params.ts";
import { addEmail, removeEmail } from "./actions.ts";
import { type EmailRow, presentEmail, UserEmail } from "./entity.ts";
import { emailOf, emailsOf } from "./queries.ts";

const scopes = ["read_user"] as const;
const Emails = pageOf(UserEmail, { id: "e.id" });
const OwnEmailId = Type.Object({ email_id: Id });
const EmailId = Type.Object({ ...UserId.properties, ...OwnEmailId.properties });
const NewEmail = Type.Object({ email: Text(1024) });
const NewEmailOfUser = Type.Object({ ...UserId.properties, ...NewEmail.properties, skip_confirmation: Flag });

/** The secondary addresses of the calling user, and for administrators those of every user. */
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
    handle: ({ actor, params, ...context }) => handleAdd(context, actor.user.id, params.email, false),
  }),

  removeOwn: endpoint({
    method: "DELETE",
    path: "/user/emails/:email_id",
    summary: "Remove a secondary address from one's own account",
    access: signedIn(),
    params: OwnEmailId,
    audit: "user_email_removed",
    conditional: true,
    handle: ({ actor, params, ...context }) => handleRemove(context, actor.user.id, params.email_id),
  }),

  list: endpoint({
    method: "GET",
    path: "/users/:id/emails",
    summary: "List the secondary addresses of a user",
    access: administrator({ scopes }),
    params: UserId,
    returns: Emails,
    async handle({ db, databases, params, page }) {
      const { id } = await userById(databases, params.id);
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
      const { id } = await userById(databases, params.id);
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
    handle: ({ params: { id, email, skip_confirmation: confirmed = false }, ...context }) =>
      handleAdd(context, id, email, confirmed),
  }),

  remove: endpoint({
    method: "DELETE",
    path: "/users/:id/emails/:email_id",
    summary: "Remove a secondary address from a user",
    access: administrator(),
    params: EmailId,
    audit: "user_email_removed",
    conditional: true,
    handle: ({ params, ...context }) => handleRemove(context, params.id, params.email_id),
  }),
};

async function handleAdd({ tx, audit, services }: WriteContext, userId: number, email: string, confirmed: boolean) {
  await lockedUser(tx, userId);
  const row = await addEmail(tx, services.jobs, userId, email, confirmed);
  audit({ ...targetOf(row, userId), details: { confirmed } });
  return presentEmail(row);
}

async function handleRemove({ tx, audit, unlessModified }: WriteContext & Conditional, userId: number, id: number) {
  await lockedUser(tx, userId);
  const email = await removeEmail(tx, userId, id);
  unlessModified(email.updated_at);
  audit(targetOf(email, userId));
}

const targetOf = ({ id, email }: EmailRow, userId: number) =>
  ({ type: "Email", id, name: email, entity: { type: "User", id: userId } }) as const;
