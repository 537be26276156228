/** A status for whatever the request names, or one each for the caller's own object, somebody else's, and none. */
export type Statuses = number | readonly [own: number, foreign: number, missing: number];

/** What more there is to say of an endpoint. */
interface More {
  /** What the first name in the path stands for, or the parameter that `by` names. */
  readonly object?: "user" | "token";
  readonly by?: string;
  /** Parameters of a request that is in order, `*` being a word that was not used before. */
  readonly send?: string;
  /** A field that only administrators are shown. */
  readonly adminsSee?: string;
  /** What an administrator is answered who acts for another user, where that is not what the user is. */
  readonly sudo?: number;
  /** What a caller on the same machine is answered, where that makes a difference. */
  readonly loopback?: number;
  /** Whether showing a revoked token here ends every token that came from it. */
  readonly endsFamily?: true;
}

/** What an endpoint answers, said by hand: nothing here may come from the code that is tested. */
export interface Line extends More {
  readonly anonymous: Statuses;
  readonly user: Statuses;
  readonly administrator: Statuses;
  /** The scopes of which a token needs one, or `any`. */
  readonly scopes: string;
}

function line(anonymous: Statuses, user: Statuses, administrator: Statuses, scopes: string, more: More = {}): Line {
  return { anonymous, user, administrator, scopes, ...more };
}

const WRITE = "api";
const READ = "api read_api";
const READ_USER = "api read_api read_user";

const FOUND = [200, 200, 404] as const;
const MADE = [201, 201, 404] as const;
const ONLY_OWN = [200, 404, 404] as const;

const AVATAR = "file=default.svg";
const NEW_TOKEN = "name=*&scopes=k8s_proxy";
const NEW_USER = "username=*&name=New&email=*@example.com&force_random_password=1";

/** One line an endpoint: for those not signed in, users, administrators, and the scopes that open it. */
export const lines: Readonly<Record<string, Line>> = {
  "GET /users": line(200, 200, 200, READ_USER, { adminsSee: "is_admin" }),
  "GET /users/:id": line(401, FOUND, FOUND, READ_USER, { object: "user", adminsSee: "email" }),
  "GET /user": line(401, 200, 200, READ_USER, { adminsSee: "is_admin" }),
  "POST /users": line(401, 403, 201, WRITE, { send: NEW_USER }),
  "PUT /users/:id": line(401, 403, FOUND, WRITE, { object: "user", send: "bio=*" }),
  "GET /uploads/-/system/user/avatar/:id/:file": line(FOUND, FOUND, FOUND, READ_USER, { object: "user", send: AVATAR }),

  "GET /personal_access_tokens": line(401, [200, 403, 403], 200, READ, { object: "user", by: "user_id" }),
  "GET /personal_access_tokens/self": line(401, 200, 200, "any", { sudo: 400 }),
  "GET /personal_access_tokens/:id": line(401, ONLY_OWN, FOUND, READ, { object: "token" }),
  "POST /users/:user_id/personal_access_tokens": line(401, 403, MADE, WRITE, { object: "user", send: NEW_TOKEN }),
  "POST /user/personal_access_tokens": line(401, 201, 201, WRITE, { send: NEW_TOKEN }),
  "POST /personal_access_tokens/self/rotate": line(401, 200, 200, "api self_rotate", { sudo: 400, endsFamily: true }),
  "POST /personal_access_tokens/:id/rotate": line(401, ONLY_OWN, FOUND, WRITE, { object: "token", endsFamily: true }),
  "DELETE /personal_access_tokens/self": line(401, 204, 204, "any", { sudo: 400 }),
  "DELETE /personal_access_tokens/:id": line(401, [204, 404, 404], [204, 204, 404], WRITE, { object: "token" }),

  "GET /version": line(401, 200, 200, READ_USER),
  "GET /metadata": line(401, 200, 200, READ_USER),

  "GET /-/health": line(200, 200, 200, READ),
  "GET /-/liveness": line(200, 200, 200, READ),
  "GET /-/readiness": line(200, 200, 200, READ, { loopback: 200, adminsSee: "checks" }),
  "GET /-/metrics": line(403, 403, 200, READ, { loopback: 200 }),

  "GET /": line(302, 302, 302, READ),
  "GET /-/api": line(200, 200, 200, READ),
  "GET /-/api/openapi.json": line(200, 200, 200, READ),
  "GET /-/api/:file": line(200, 200, 200, READ, { send: "file=start.js" }),
};
