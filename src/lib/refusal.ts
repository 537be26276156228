/** Why a caller is refused, in words that every edge understands: HTTP makes a status of it, SSH a line of text. */
export type Kind =
  | "invalid"
  | "unauthenticated"
  | "forbidden"
  | "missing"
  | "moved"
  | "unchanged"
  | "not allowed"
  | "conflict"
  | "too large"
  | "too long"
  | "too many headers"
  | "unsupported"
  | "unprocessable"
  | "too many"
  | "unavailable";

/** What the wire shows beyond the kind: one field's problems, an OAuth error, or a parameter error. */
export interface Details {
  /** `{"message":{field:[…]}}`: what a model refuses. */
  readonly fields?: Readonly<Record<string, readonly string[]>>;
  /** `{"error":…}`: what parameters and routing refuse. */
  readonly error?: string;
  /** `{"error":…,"error_description":…,"scope":…}`: what a token lacks. */
  readonly token?: { readonly error: string; readonly description: string; readonly scope?: string };
  /** The name in the path that is an address of before, and the id of what it leads to now. */
  readonly moved?: { readonly name: string; readonly id: number };
  /** Seconds after which another try makes sense. */
  readonly retryAfter?: number;
  /** A page of HTML that says it, where people look and no program. */
  readonly page?: string;
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

/** The words of a refusal without what stands for its status, for edges that have no status. */
export const reasonOf = ({ message }: Refusal): string => message.replace(/^\d{3} (?:[A-Z][A-Za-z ]* - )?/, "");

const because = (text: string, reason?: string) => (reason ? `${text} - ${reason}` : text);

export const badRequest = (reason?: string) => new Refusal("invalid", because("400 Bad request", reason));
/** Refused in just these words. */
export const invalid = (message: string) => new Refusal("invalid", message);
export const badParameter = (error: string) => new Refusal("invalid", error, { error });
export const badFields = (fields: Record<string, readonly string[]>) =>
  new Refusal("invalid", "400 Bad request", { fields });
export const unauthenticated = (reason?: string) => new Refusal("unauthenticated", because("401 Unauthorized", reason));
export const forbidden = (reason?: string) => new Refusal("forbidden", because("403 Forbidden", reason));
export const moved = (name: string, id: number) => new Refusal("moved", "moved", { moved: { name, id } });
/** What was asked for is so already. */
export const unchanged = () => new Refusal("unchanged", "304 Not Modified");
export const missing = (thing?: string) => new Refusal("missing", thing ? `404 ${thing} Not Found` : "404 Not Found");
export const conflict = (message = "409 Conflict") => new Refusal("conflict", message);
export const unprocessable = (message = "422 Unprocessable Entity") => new Refusal("unprocessable", message);
export const tooLarge = () => new Refusal("too large", "413 Request Entity Too Large");
export const unavailable = (retryAfter = 1) => new Refusal("unavailable", "503 Service Unavailable", { retryAfter });
