import { type Constraints, refusalOf } from "#db/errors.ts";
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
  "failed precondition": 412,
  unprocessable: 422,
  "too many": 429,
  unavailable: 503,
};

export interface ErrorResponse {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly headers: readonly (readonly [string, string])[];
  /** True for an unexpected error, whose stack is logged. */
  readonly bug: boolean;
}

/** The same text for every anonymous caller of git, so that it does not reveal what exists. */
const HOW_TO_SIGN_IN = "Sign in with any user name and a token as the password.";

/** The response in a form that git shows to people: it reads the body of an error only if that is plain text. */
export function gitErrorResponse(thrown: unknown, constraints?: Constraints): ErrorResponse {
  const response = errorResponse(thrown, constraints);
  const refusal = refusalOf(thrown, constraints);
  const headers = response.headers.filter(([name]) => name !== "www-authenticate");
  if (response.status === 401) headers.push(["www-authenticate", 'Basic realm="Fairlead"']);
  return {
    ...response,
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

/** The response to anything thrown; an error that is no refusal reveals nothing of itself. */
export function errorResponse(thrown: unknown, constraints?: Constraints): ErrorResponse {
  const refusal = refusalOf(thrown, constraints);
  if (!refusal) {
    const body = '{"message":"500 Internal Server Error"}';
    return { status: 500, contentType: "application/json", body, headers: [], bug: true };
  }
  const { page } = refusal.details;
  return {
    status: STATUS[refusal.kind],
    contentType: page === undefined ? "application/json" : "text/html; charset=utf-8",
    body: page ?? JSON.stringify(shapeOf(refusal.message, refusal.details)),
    headers: headersOf(refusal),
    bug: false,
  };
}

function shapeOf(message: string, { fields, error, token, hint }: Details) {
  if (token)
    return { error: token.error, error_description: token.description, ...(token.scope && { scope: token.scope }) };
  if (error !== undefined) return { error, ...(hint !== undefined && { hint }) };
  return { message: fields ?? message };
}

function headersOf({ kind, details: { retryAfter, token } }: Refusal): [string, string][] {
  const headers: [string, string][] = [];
  if (retryAfter !== undefined) headers.push(["retry-after", String(retryAfter)]);
  if (token) headers.push(["www-authenticate", `${BEARER}, error="${token.error}"`]);
  else if (kind === "unauthenticated") headers.push(["www-authenticate", BEARER]);
  return headers;
}

/** Basic would open a dialog in browsers. */
const BEARER = 'Bearer realm="Fairlead"';

/** Refuses a path that matches no endpoint; a hint says how it might. */
export const noSuchRoute = (hint?: string) =>
  new Refusal("missing", "404 Not Found", { error: "404 Not Found", ...(hint !== undefined && { hint }) });
export const wrongMethod = () => new Refusal("not allowed", "405 Not Allowed", { error: "405 Not Allowed" });
export const targetTooLong = () =>
  new Refusal("too long", "414 Request-URI Too Large", { error: "414 Request-URI Too Large" });
