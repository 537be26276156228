/** The reason for a refusal, independent of the protocol: HTTP maps it to a status, SSH prints a line of text. */
export type Kind =
  | "invalid"
  | "unauthenticated"
  | "forbidden"
  | "missing"
  | "moved"
  | "unchanged"
  | "not allowed"
  | "conflict"
  | "failed precondition"
  | "too large"
  | "too long"
  | "too many headers"
  | "unsupported"
  | "unprocessable"
  | "too many"
  | "unavailable";

/** What the response shows besides the message. */
export interface Details {
  /** `{"message":{field:[…]}}`: validation errors. */
  readonly fields?: Readonly<Record<string, readonly string[]>>;
  /** `{"error":…}`: errors of parameters and routing. */
  readonly error?: string;
  /** Beside `error`: how the request might work. */
  readonly hint?: string;
  /** `{"error":…,"error_description":…,"scope":…}`: the scope that a token lacks. */
  readonly token?: { readonly error: string; readonly description: string; readonly scope?: string };
  /** The path parameter that holds a previous path, and the id that it redirects to. */
  readonly moved?: { readonly name: string; readonly id: number };
  /** Seconds until a retry makes sense. */
  readonly retryAfter?: number;
  /** An HTML page for endpoints that people open in a browser. */
  readonly page?: string;
  /** Which credential was refused and why; only for the log. */
  readonly signIn?: SignInRefusal;
}

export const SIGN_IN_KINDS = [
  "password",
  "second_factor",
  "token",
  "session",
  "ssh_key",
  "deploy_key",
  "integration_key",
  "git_http",
] as const;
export type SignInKind = (typeof SIGN_IN_KINDS)[number];

export interface SignInRefusal {
  readonly kind: SignInKind;
  /** A fixed text, never what the caller sent. */
  readonly reason: string;
}

/** The one error that a caller is meant to see; anything else thrown is a bug. */
export class Refusal extends Error {
  readonly kind: Kind;
  readonly details: Details;

  constructor(kind: Kind, message: string, details: Details = {}) {
    super(message);
    this.kind = kind;
    this.details = details;
  }
}

/** Marks a refusal as that of a credential. */
export const refusedSignIn = ({ kind, message, details }: Refusal, signIn: SignInRefusal) =>
  new Refusal(kind, message, { ...details, signIn });

/** The message of a refusal without its HTTP status, for other protocols. */
export const reasonOf = ({ message }: Refusal): string => message.replace(/^\d{3} (?:[A-Z][A-Za-z ]* - )?/, "");

const because = (text: string, reason?: string) => (reason ? `${text} - ${reason}` : text);

export const badRequest = (reason?: string) => new Refusal("invalid", because("400 Bad request", reason));
/** Refuses with exactly this message. */
export const invalid = (message: string) => new Refusal("invalid", message);
export const badParameter = (error: string) => new Refusal("invalid", error, { error });
export const badFields = (fields: Record<string, readonly string[]>) =>
  new Refusal("invalid", "400 Bad request", { fields });
export const unauthenticated = (reason?: string) => new Refusal("unauthenticated", because("401 Unauthorized", reason));
export const forbidden = (reason?: string) => new Refusal("forbidden", because("403 Forbidden", reason));
export const moved = (name: string, id: number) => new Refusal("moved", "moved", { moved: { name, id } });
/** The requested state is already in place. */
export const unchanged = () => new Refusal("unchanged", "304 Not Modified");
export const missing = (thing?: string) => new Refusal("missing", thing ? `404 ${thing} Not Found` : "404 Not Found");
export const conflict = (message = "409 Conflict") => new Refusal("conflict", message);
export const preconditionFailed = () => new Refusal("failed precondition", "412 Precondition Failed");
export const unprocessable = (message = "422 Unprocessable Entity") => new Refusal("unprocessable", message);
export const tooLarge = () => new Refusal("too large", "413 Request Entity Too Large");
export const unavailable = (retryAfter = 1, reason?: string) =>
  new Refusal("unavailable", because("503 Service Unavailable", reason), { retryAfter });
