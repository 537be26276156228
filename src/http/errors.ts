import { refusalOf } from "#db/errors.ts";
import { type Details, type Kind, Refusal } from "#lib/refusal.ts";

const STATUS: Record<Kind, number> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  missing: 404,
  moved: 308,
  unchanged: 304,
  "not allowed": 405,
  conflict: 409,
  "too large": 413,
  "too long": 414,
  "too many headers": 431,
  unsupported: 415,
  unprocessable: 422,
  "too many": 429,
  unavailable: 503,
};

export interface ErrorAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly headers: readonly (readonly [string, string])[];
  /** True where nobody foresaw it: the log gets the stack. */
  readonly bug: boolean;
}

/** What everybody is told who has to show who they are before git does anything for them, whatever there is to see. */
const HOW_TO_SIGN_IN = "Sign in with any user name and a token as the password.";

/** The same in the way that git shows to people: it reads the body of an error only when that is plain text. */
export function gitErrorAnswer(thrown: unknown): ErrorAnswer {
  const answer = errorAnswer(thrown);
  const refusal = thrown instanceof Refusal ? thrown : refusalOf(thrown);
  const headers = answer.headers.filter(([name]) => name !== "www-authenticate");
  if (answer.status === 401) headers.push(["www-authenticate", 'Basic realm="Fairlead"']);
  return {
    ...answer,
    contentType: "text/plain",
    body: refusal ? textOf(refusal) : "500 Internal Server Error",
    headers,
  };
}

function textOf({ kind, message, details: { fields, error, token } }: Refusal): string {
  if (kind === "unauthenticated") return token ? `${token.description} ${HOW_TO_SIGN_IN}` : HOW_TO_SIGN_IN;
  if (!fields) return token?.description ?? error ?? message;
  return Object.entries(fields)
    .map(([field, texts]) => `${field} ${texts.join(", ")}`)
    .join(", ");
}

/** Makes the wire form of anything thrown; what is no refusal tells the caller nothing of itself. */
export function errorAnswer(thrown: unknown): ErrorAnswer {
  const refusal = thrown instanceof Refusal ? thrown : refusalOf(thrown);
  if (!refusal) {
    const body = '{"message":"500 Internal Server Error"}';
    return { status: 500, contentType: "application/json", body, headers: [], bug: true };
  }
  const { page } = refusal.details;
  return {
    status: STATUS[refusal.kind],
    contentType: page === undefined ? "application/json" : "text/html; charset=utf-8",
    body: page ?? JSON.stringify(shapeOf(refusal.message, refusal.details)),
    headers: headersOf(refusal.details),
    bug: false,
  };
}

function shapeOf(message: string, { fields, error, token }: Details) {
  if (token)
    return { error: token.error, error_description: token.description, ...(token.scope && { scope: token.scope }) };
  if (error !== undefined) return { error };
  return { message: fields ?? message };
}

function headersOf({ retryAfter, token }: Details): [string, string][] {
  const headers: [string, string][] = [];
  if (retryAfter !== undefined) headers.push(["retry-after", String(retryAfter)]);
  if (token) headers.push(["www-authenticate", `Bearer realm="Fairlead", error="${token.error}"`]);
  return headers;
}

export const noSuchRoute = () => new Refusal("missing", "404 Not Found", { error: "404 Not Found" });
export const wrongMethod = () => new Refusal("not allowed", "405 Not Allowed", { error: "405 Not Allowed" });
export const targetTooLong = () =>
  new Refusal("too long", "414 Request-URI Too Large", { error: "414 Request-URI Too Large" });
