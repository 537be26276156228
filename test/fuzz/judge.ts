import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { operationsOf, type Resources } from "#http/app.ts";
import { type Endpoint, plainOf, schemaOf, successOf } from "#http/endpoint.ts";
import { type Answer, headerOf } from "./client.ts";
import type { Logged } from "./log-reader.ts";
import { FOREIGN_HOST, PASSWORD_CANARY } from "./marks.ts";
import type { WireRequest } from "./request.ts";
import type { Secrets } from "./secrets.ts";

/** Every documented status; 503 is for an unreachable database, which does not happen here. */
const DOCUMENTED = new Set([
  200, 201, 204, 301, 304, 308, 400, 401, 403, 404, 405, 409, 412, 413, 414, 415, 422, 429, 431,
]);
/** Statuses for invalid requests and tunnels, which have no exchange and no log line. */
const RAW_STATUSES = new Set([400, 405, 408, 414, 431]);
/** Writes that respond with 304 if nothing changes. */
const UNCHANGED = /\/(?:(?:un)?(?:star|follow|subscribe)|todos?)$/;
/** Operations that create and end sessions. */
const SESSIONS = /^(?:sessions|secondFactors)\./;
const COOKIE =
  /^fairlead_session=(?:[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax|; Path=\/; HttpOnly; SameSite=Lax; Max-Age=0)$/;
const MAX_HEAD_BYTES = 64 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;

/** Returns the problems of a response. */
export type Judge = (asked: Seen, answer: Answer, logged: Logged | undefined) => string[];

/** The parts of a request that its response depends on. */
interface Seen extends Pick<WireRequest, "method"> {
  /** Whether its caller must count as anonymous. */
  readonly nobody?: boolean;
  /** Whether it names a revision by an expression, which must not be evaluated. */
  readonly barred?: boolean;
}

interface Expected {
  readonly endpoint: Endpoint;
  readonly fits: ((value: unknown) => string | undefined) | undefined;
}

/** Checks that apply to every response. The resources are those to serve; `hidden` are the paths on disk. */
export function makeJudge(resources: Resources, secrets: Secrets, hidden: readonly string[]): Judge {
  const expected = new Map(operationsOf(resources).map(({ name, endpoint }) => [name, expectedOf(endpoint)]));
  // An endpoint may declare its own status, such as that of a redirect.
  const own = new Set([...expected.values()].map(({ endpoint }) => successOf(endpoint)));
  return (asked, answer, logged) => {
    if (answer.broken !== undefined) return [`not well-formed: ${answer.broken}`];
    const { status } = answer;
    const where = logged?.operation ?? "somewhere";
    const causes: string[] = [];
    const blame = (cause: string | undefined) => void (cause !== undefined && causes.push(`${where}: ${cause}`));
    if (status >= 500) blame(`status ${status}: ${logged?.error ?? answer.body.toString("utf8").slice(0, 200)}`);
    else if (!DOCUMENTED.has(status) && !own.has(status)) blame(`status ${status} is in no document`);
    blame(headProblem(answer, logged));
    blame(leak(answer, secrets));
    if (hidden.some((path) => answer.body.includes(path))) blame("a path of the disk is in the answer");
    if (asked.barred && status < 400) blame("what names nothing is taken for a name");
    if (status < 300) secrets.learn(answer);
    blame(cookieProblem(answer, logged));
    if (logged?.operation.startsWith("accounts.") && headerOf(answer, "content-type") === HTML)
      blame(pageProblem(answer));
    if (asked.nobody && logged) blame(authenticationProblem(answer, logged, expected.get(logged.operation)));
    const value = asked.method === "HEAD" ? undefined : parsed(answer);
    if (status >= 400) {
      const endpoint = logged && expected.get(logged.operation)?.endpoint;
      if (isGitRefusal(answer, endpoint)) blame(textProblem(answer, asked.method === "HEAD"));
      else if (!isPage(answer, endpoint)) blame(errorProblem(answer, value, asked.method === "HEAD"));
    } else if (status === 301 || status === 308) blame(movedProblem(asked, answer, value));
    else if (logged) blame(successProblem(asked, answer, value, expected.get(logged.operation)));
    return causes;
  };
}

function expectedOf(endpoint: Endpoint): Expected {
  const schema = schemaOf(endpoint.returns);
  return { endpoint, fits: schema && fitterOf(schema) };
}

function fitterOf(schema: TSchema) {
  const compiled = Compile(schema);
  return (value: unknown) => {
    if (compiled.Check(value)) return undefined;
    const [first] = compiled.Errors(value);
    return `${(first?.instancePath ?? "").replaceAll(/\/\d+/g, "/N")} ${first?.message ?? "is wrong"}`;
  };
}

const NOT_JSON = Symbol("not JSON");

function parsed({ body }: Answer): unknown {
  if (body.length === 0) return undefined;
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return NOT_JSON;
  }
}

function headProblem(answer: Answer, logged: Logged | undefined): string | undefined {
  const { status, headBytes, body } = answer;
  const type = headerOf(answer, "content-type");
  if (headBytes > MAX_HEAD_BYTES) return "headers larger than any client reads";
  if (status === 204 || status === 304) return type === undefined ? undefined : `status ${status} with a content type`;
  if (headerOf(answer, "x-request-id") === undefined) {
    return RAW_STATUSES.has(status) && answer.closes ? undefined : `status ${status} without a request id`;
  }
  if (headerOf(answer, "x-content-type-options") !== "nosniff") return "without the headers that every answer has";
  // An endpoint also uses it for a page beyond the offset limit.
  const isPaged = body.includes("pagination") || (logged !== undefined && logged.operation !== "none");
  if (status === 405 && headerOf(answer, "allow") === undefined && !isPaged) return "status 405 without Allow";
  if (status === 429 && !/^[1-9]\d*$/.test(headerOf(answer, "retry-after") ?? ""))
    return "status 429 without Retry-After";
  return undefined;
}

const DIGESTS = /\$argon2|flpat-/;

function leak(answer: Answer, secrets: Secrets): string | undefined {
  const head = answer.headers.map(([, value]) => value).join("\n");
  const text = answer.body.toString("latin1");
  const told = secrets.toldBy(head) ?? secrets.toldBy(text, headerOf(answer, "content-type") === HTML);
  if (told !== undefined) return `${told} is in the answer`;
  if (text.includes(PASSWORD_CANARY) || head.includes(PASSWORD_CANARY)) return "a password is in the answer";
  // A token may only be in the field of a newly created one.
  if (DIGESTS.test(head) || DIGESTS.test(text.replaceAll(/"token":"flpat-[\w.-]+"/g, "")))
    return "a secret is in the answer";
  return head.includes(FOREIGN_HOST) || text.includes(`//${FOREIGN_HOST}`)
    ? "a link leads to a foreign host"
    : undefined;
}

/** Only endpoints that create, change or end a session set its cookie, in one form. */
function cookieProblem(answer: Answer, logged: Logged | undefined): string | undefined {
  const cookies = answer.headers.filter(([name]) => name === "set-cookie").map(([, value]) => value);
  if (cookies.length === 0) return undefined;
  if (answer.status >= 300 || (logged && !SESSIONS.test(logged.operation)))
    return "a cookie where no session begins or ends";
  const odd = cookies.find((cookie) => !COOKIE.test(cookie));
  return odd === undefined ? undefined : `a cookie of another form: ${odd.replaceAll(/=[\w-]{43}/g, "=…")}`;
}

/** A page runs no script, loads nothing, and is not cached: its form may contain the secret of a link. */
function pageProblem(answer: Answer): string | undefined {
  const values = (name: string) => answer.headers.filter(([known]) => known === name).map(([, value]) => value);
  if (!values("cache-control").includes("no-store")) return "a page that may be kept";
  if (!values("content-security-policy").every((policy) => policy.startsWith("default-src 'none'; style-src 'sha256-")))
    return "a page with another policy";
  return /<script/i.test(answer.body.toString("latin1")) ? "a page with a script" : undefined;
}

/** A caller without proof is anonymous, and refused by endpoints that require sign-in. */
function authenticationProblem(
  { status }: Answer,
  { userId }: Logged,
  expected: Expected | undefined,
): string | undefined {
  if (userId !== undefined) return "a caller who proves nothing is taken for a user";
  return expected?.endpoint.access.admits.anonymous === false && status < 400
    ? "a caller who proves nothing is let in"
    : undefined;
}

const isText = (value: unknown) => typeof value === "string" && value !== "";
const hasOnly = (value: object, ...keys: string[]) => Object.keys(value).every((key) => keys.includes(key));
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** One of the five shapes: a message, messages by field, a nested error, an error, or a token error. */
function isErrorShape(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { message, error, error_description: description, scope } = value;
  if (error !== undefined) {
    if (!isText(error)) return false;
    if (description === undefined) return hasOnly(value, "error", "hint") && isText(value["hint"] ?? "none");
    return (
      isText(description) &&
      (scope === undefined || isText(scope)) &&
      hasOnly(value, "error", "error_description", "scope")
    );
  }
  if (!hasOnly(value, "message")) return false;
  if (!isRecord(message)) return isText(message);
  if (isText(message["error"])) return hasOnly(message, "error");
  const fields = Object.values(message);
  return fields.length > 0 && fields.every((texts) => Array.isArray(texts) && texts.length > 0 && texts.every(isText));
}

const HTML = "text/html; charset=utf-8";

/** An endpoint with pages may refuse with a page; over a socket the endpoint is not known. */
const isPage = (answer: Answer, endpoint: Endpoint | undefined): boolean =>
  headerOf(answer, "content-type") === HTML && (!endpoint || plainOf(endpoint.returns)?.contentType === HTML);

/** Git is refused with plain text; over a socket the endpoint is not known. */
const isGitRefusal = (answer: Answer, endpoint: Endpoint | undefined): boolean =>
  endpoint ? endpoint.errors === "git" : headerOf(answer, "content-type") === "text/plain";

function textProblem(answer: Answer, head: boolean): string | undefined {
  const type = headerOf(answer, "content-type");
  if (type !== "text/plain") return `status ${answer.status} for git with type ${type}`;
  if (!head && (answer.body.length === 0 || answer.body.length > MAX_ERROR_BYTES))
    return `status ${answer.status} for git with ${answer.body.length} bytes`;
  const asks = headerOf(answer, "www-authenticate")?.startsWith("Basic ") ?? false;
  return asks === (answer.status === 401) ? undefined : `status ${answer.status} for git with another way to sign in`;
}

function errorProblem(answer: Answer, value: unknown, head: boolean): string | undefined {
  const { status } = answer;
  if (headerOf(answer, "content-type") !== "application/json")
    return `status ${status} with type ${headerOf(answer, "content-type")}`;
  if (answer.body.length > MAX_ERROR_BYTES) return `status ${status} with ${answer.body.length} bytes`;
  return head || isErrorShape(value)
    ? undefined
    : `status ${status} in none of the five shapes: ${answer.body.toString("utf8").slice(0, 200)}`;
}

/** A previous path redirects to the same request by id; only 308 makes every client repeat a write unchanged. */
function movedProblem({ method }: Pick<WireRequest, "method">, answer: Answer, value: unknown): string | undefined {
  const isRead = method === "GET" || method === "HEAD";
  const location = headerOf(answer, "location") ?? "";
  if (answer.status !== (isRead ? 301 : 308)) return `status ${answer.status} for ${method}`;
  if (!/^https?:\/\/[^/]+\/[\w/-]+\/\d+(?:[/?]|$)/.test(location)) return `status ${answer.status} to ${location}`;
  return errorProblem(answer, value, method === "HEAD");
}

const BYTES = "application/octet-stream";
const TEXT = "text/plain; charset=utf-8";

/** A response to git has the type that it expects and consists of packets; those of a fetch may be followed by a pack. */
function gitProblem({ path }: Endpoint, answer: Answer, head: boolean): string | undefined {
  const [, service = ""] =
    /^application\/x-(git-(?:upload|receive)-pack)-(?:advertisement|result)$/.exec(
      headerOf(answer, "content-type") ?? "",
    ) ?? [];
  const isRefs = path.endsWith("/info/refs");
  if (service === "" || !(isRefs || path.endsWith(service))) return `type ${headerOf(answer, "content-type")} for git`;
  if (head || path.endsWith("upload-pack")) return undefined;
  for (let at = 0; at < answer.body.length;) {
    const digits = answer.body.toString("latin1", at, at + 4);
    const length = /^[0-9a-f]{4}$/.test(digits) ? Number.parseInt(digits, 16) : 3;
    if (length === 3 || at + length > answer.body.length) return "packets that are none";
    at += Math.max(length, 4);
  }
  return undefined;
}

function successProblem(
  { method }: Pick<WireRequest, "method">,
  answer: Answer,
  value: unknown,
  expected: Expected | undefined,
) {
  const { status, body } = answer;
  if (!expected) return method === "OPTIONS" && status === 204 ? undefined : `status ${status} where nothing is served`;
  const { endpoint, fits } = expected;
  const isRead = method === "GET" || method === "HEAD";
  if (status === 304) return isRead || UNCHANGED.test(endpoint.path) ? undefined : "status 304 for a write";
  const isTried = endpoint.path.includes("/commits/") && isRecord(value) && value["dry_run"] === "success";
  if (status !== (isTried ? 200 : successOf(endpoint))) return `status ${status} instead of ${successOf(endpoint)}`;
  const type = headerOf(answer, "content-type");
  const plain = plainOf(endpoint.returns)?.contentType;
  if (endpoint.errors === "git") return gitProblem(endpoint, answer, method === "HEAD");
  if (plain === BYTES && type === TEXT)
    return headerOf(answer, "content-disposition")?.startsWith("attachment")
      ? undefined
      : "a file that a browser shows";
  if (plain !== undefined) {
    const [start = ""] = plain.split("*");
    return (plain.endsWith("*") ? type?.startsWith(start) : type === plain)
      ? undefined
      : `type ${type} instead of ${plain}`;
  }
  if (!fits) return body.length === 0 ? undefined : "a body where there is none";
  if (type !== "application/json") return `type ${type} instead of application/json`;
  if (method === "HEAD") return undefined;
  const misfit = fits(value);
  return misfit === undefined ? undefined : `the answer does not fit its schema: ${misfit}`;
}
