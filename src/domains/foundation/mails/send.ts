import Type, { type Static } from "typebox";
import type { Tx } from "#db/database.ts";
import type { Jobs } from "#jobs/add.ts";
import type { JobKind } from "#jobs/kind.ts";

const exact = { additionalProperties: false };
const Email = Type.String({ maxLength: 320 });

const mail = <const Kind extends string, Facts extends Type.TProperties>(kind: Kind, facts: Facts) =>
  Type.Object({ kind: Type.Literal(kind), userId: Type.Integer(), ...facts }, exact);

const Mail = Type.Union([
  mail("confirm_email", { email: Email }),
  /** To the primary address, which an administrator vouches for, or to another that is confirmed. */
  mail("reset_password", { email: Type.Optional(Email) }),
  mail("invitation", { nonce: Type.String({ maxLength: 36 }) }),
  mail("new_sign_in", { ip: Type.String(), agent: Type.String(), at: Type.String() }),
  mail("token_expiring", { tokenId: Type.Integer() }),
  mail("account_locked", {}),
  mail("password_changed", {}),
]);
/** A mail's recipient and subject matter; its text and any secret in it are produced only when it is sent. */
export type Mail = Static<typeof Mail>;

/** Retries for five days, as mail servers do, and at most ten minutes after the server is back. */
export const retried = { queue: "mail", retries: 720, backoff: { first: 2, max: 600 } } as const;

export const mailKind = { ...retried, name: "mails.send", payload: Mail } satisfies JobKind<typeof Mail>;

const ResetRequest = Type.Object({ email: Email }, exact);
export const resetRequestKind = {
  ...retried,
  name: "mails.reset_asked",
  payload: ResetRequest,
  key: ({ email }) => email,
} satisfies JobKind<typeof ResetRequest>;

/** Sends a mail once the caller's transaction has committed. */
export const mailTo = (jobs: Jobs, tx: Tx, mail: Mail): Promise<void> => jobs.add(tx, mailKind, mail);

/** A job looks up the address, so that neither the answer nor its timing reveals whether an account exists. */
export const requestReset = (jobs: Jobs, tx: Tx, email: string): Promise<void> =>
  jobs.add(tx, resetRequestKind, { email });
