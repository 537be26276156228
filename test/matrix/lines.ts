/** A status for whatever the request names, or one each for the caller's own object, somebody else's, and none. */
export type Statuses = number | readonly [own: number, foreign: number, missing: number];

/** What an endpoint answers, said by hand: nothing here may come from the code that is tested. */
export interface Line {
  readonly anonymous: Statuses;
  readonly user: Statuses;
  readonly administrator: Statuses;
  /** The scopes of which a token needs one, or `any`. */
  readonly scopes: string;
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

const WRITE = "api";
const READ = "api read_api";
const READ_USER = "api read_api read_user";

const FOUND = [200, 200, 404] as const;
const ONLY_OWN = [200, 404, 404] as const;

export const lines: Readonly<Record<string, Line>> = {
  "GET /users": { anonymous: 200, user: 200, administrator: 200, scopes: READ_USER, adminsSee: "is_admin" },
  "GET /users/:id": { anonymous: 401, user: FOUND, administrator: FOUND, scopes: READ_USER, object: "user", adminsSee: "email" },
  "GET /user": { anonymous: 401, user: 200, administrator: 200, scopes: READ_USER, adminsSee: "is_admin" },
  "POST /users": { anonymous: 401, user: 403, administrator: 201, scopes: WRITE, send: "username=*&name=New&email=*@example.com&force_random_password=1" },
  "PUT /users/:id": { anonymous: 401, user: 403, administrator: FOUND, scopes: WRITE, object: "user", send: "bio=*" },
  "GET /uploads/-/system/user/avatar/:id/:file": { anonymous: FOUND, user: FOUND, administrator: FOUND, scopes: READ_USER, object: "user", send: "file=default.svg" },

  "GET /personal_access_tokens": { anonymous: 401, user: [200, 403, 403], administrator: 200, scopes: READ, object: "user", by: "user_id" },
  "GET /personal_access_tokens/self": { anonymous: 401, user: 200, administrator: 200, scopes: "any", sudo: 400 },
  "GET /personal_access_tokens/:id": { anonymous: 401, user: ONLY_OWN, administrator: FOUND, scopes: READ, object: "token" },
  "POST /users/:user_id/personal_access_tokens": { anonymous: 401, user: 403, administrator: [201, 201, 404], scopes: WRITE, object: "user", send: "name=*&scopes=api" },
  "POST /user/personal_access_tokens": { anonymous: 401, user: 201, administrator: 201, scopes: WRITE, send: "name=*&scopes=k8s_proxy" },
  "POST /personal_access_tokens/self/rotate": { anonymous: 401, user: 200, administrator: 200, scopes: "api self_rotate", sudo: 400, endsFamily: true },
  "POST /personal_access_tokens/:id/rotate": { anonymous: 401, user: ONLY_OWN, administrator: FOUND, scopes: WRITE, object: "token", endsFamily: true },
  "DELETE /personal_access_tokens/self": { anonymous: 401, user: 204, administrator: 204, scopes: "any", sudo: 400 },
  "DELETE /personal_access_tokens/:id": { anonymous: 401, user: [204, 404, 404], administrator: [204, 204, 404], scopes: WRITE, object: "token" },

  "GET /version": { anonymous: 401, user: 200, administrator: 200, scopes: READ_USER },
  "GET /metadata": { anonymous: 401, user: 200, administrator: 200, scopes: READ_USER },

  "GET /-/health": { anonymous: 200, user: 200, administrator: 200, scopes: READ },
  "GET /-/liveness": { anonymous: 200, user: 200, administrator: 200, scopes: READ },
  "GET /-/readiness": { anonymous: 200, user: 200, administrator: 200, scopes: READ, loopback: 200, adminsSee: "checks" },
  "GET /-/metrics": { anonymous: 403, user: 403, administrator: 200, scopes: READ, loopback: 200 },

  "GET /": { anonymous: 302, user: 302, administrator: 302, scopes: READ },
  "GET /-/api": { anonymous: 200, user: 200, administrator: 200, scopes: READ },
  "GET /-/api/openapi.json": { anonymous: 200, user: 200, administrator: 200, scopes: READ },
  "GET /-/api/:file": { anonymous: 200, user: 200, administrator: 200, scopes: READ, send: "file=start.js" },
};
