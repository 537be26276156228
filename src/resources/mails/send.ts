import Type, { type Static } from "typebox";
import type { Tx } from "#db/database.ts";
import type { Jobs } from "#jobs/add.ts";
import type { JobKind } from "#jobs/define.ts";

const exact = { additionalProperties: false };
const Email = Type.String({ maxLength: 320 });

const mail = <const Kind extends string, Facts extends Type.TProperties>(kind: Kind, facts: Facts) =>
  Type.Object({ kind: Type.Literal(kind), userId: Type.Integer(), ...facts }, exact);

const Mail = Type.Union([
  mail("confirm_email", { email: Email }),
  /** To the primary address, which an administrator vouches for, or to another that is confirmed. */
  mail("reset_password", { email: Type.Optional(Email) }),
  mail("new_sign_in", { ip: Type.String(), agent: Type.String(), at: Type.String() }),
  mail("token_expiring", { tokenId: Type.Integer() }),
  mail("account_locked", {}),
  mail("password_changed", {}),
]);
/** Every mail that is sent: to whom and what about. What it says is looked up when it is sent, as is any secret in it. */
export type Mail = Static<typeof Mail>;

/** As patient as servers are with each other: tried for five days, and within ten minutes once a lost server is back. */
const patient = { queue: "mail", retries: 720, backoff: { first: 2, most: 600 } } as const;

export const mailKind = { ...patient, name: "mails.send", payload: Mail } satisfies JobKind<typeof Mail>;

const Asked = Type.Object({ email: Email }, exact);
export const resetAskedKind = {
  ...patient,
  name: "mails.reset_asked",
  payload: Asked,
  key: ({ email }) => email,
} satisfies JobKind<typeof Asked>;

/** Sends a mail once the caller's transaction has committed. */
export const mailTo = (jobs: Jobs, tx: Tx, mail: Mail): Promise<void> => jobs.add(tx, mailKind, mail);

/** Whose address it is, if anybody's, is looked up later, so that no answer and no time of an answer tells it. */
export const askForReset = (jobs: Jobs, tx: Tx, email: string): Promise<void> =>
  jobs.add(tx, resetAskedKind, { email });
