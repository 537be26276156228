import Type from "typebox";
import { anyone, defineRule, USERS, USERS_AND_ANONYMOUS } from "#access/access.ts";
import { endpoint, plain } from "#http/endpoint.ts";
import { INGESTION_LIMITS } from "#http/params/json.ts";
import { pageOf } from "#http/paging.ts";

/**
 * Mistakes that the compiler must refuse. Nothing here runs: an expected error that no longer occurs is itself
 * an error of the compiler, so the check fails if `endpoint` accepts one of these.
 */
const params = Type.Object({ id: Type.Integer() });
const returns = Type.Object({ id: Type.Integer() });
const read = { method: "GET", path: "/things/:id", summary: "Get a thing", access: anyone(), params } as const;
const write = { ...read, method: "POST", audit: "thing_made" } as const;
const raw = { kind: "raw", bytes: 1, json: INGESTION_LIMITS } as const;
const list = { ...read, path: "/things", params: Type.Object({}), returns: pageOf(returns, { id: "u.id" }) } as const;

export const accepted = [
  endpoint({ ...read, returns, handle: ({ params: { id } }) => ({ id }) }),
  endpoint({
    ...write,
    returns,
    handle: ({ audit, params: { id } }) => (audit({ type: "Thing", id, name: "" }), { id }),
  }),
  endpoint({ ...write, transaction: "own", returns, handle: ({ databases }) => ({ id: databases.statementCount() }) }),
  endpoint({ ...list, handle: ({ db, page }) => page(db.selectFrom("users as u").select("u.id"), (row) => row) }),
  endpoint({ ...write, handle: async ({ tx }) => void (await tx.deleteFrom("emails").execute()) }),
];

const { "deploy key": _, ...undecided } = USERS;
const rule = { rule: "anyone", scopes: [] };

export const acceptedRules = [
  defineRule({ ...rule, admits: USERS, check: ({ principal: { user } }) => ({ user }) }),
  defineRule({ ...rule, admits: { ...USERS, "deploy key": true }, check: ({ principal: { kind } }) => ({ kind }) }),
];

export const refusedRules = [
  // @ts-expect-error A kind of principal that the rule has not decided on.
  defineRule({ ...rule, admits: undecided, check: () => ({}) }),

  // @ts-expect-error The user of a principal who may be anonymous.
  defineRule({ ...rule, admits: USERS_AND_ANONYMOUS, check: ({ principal: { user } }) => ({ user }) }),

  // @ts-expect-error The user of a principal who may be a deploy key.
  defineRule({ ...rule, admits: { ...USERS, "deploy key": true }, check: ({ principal: { user } }) => ({ user }) }),
];

export const refused = [
  // @ts-expect-error No access rule.
  endpoint({ method: "GET", path: "/things/:id", summary: "Get", params, returns, handle: () => ({ id: 1 }) }),

  // @ts-expect-error A name of the path that the parameters lack.
  endpoint({ ...read, path: "/things/:id/parts/:part_id", returns, handle: () => ({ id: 1 }) }),

  // @ts-expect-error The name of a namespace that the parameters lack.
  endpoint({ ...read, path: "/*project.git/info/refs", returns, handle: () => ({ id: 1 }) }),

  // @ts-expect-error Another shape than `returns`.
  endpoint({ ...read, returns, handle: () => ({ id: "one" }) }),

  // @ts-expect-error Nothing, where an answer is promised.
  endpoint({ ...read, returns, handle: () => {} }),

  // @ts-expect-error An answer, where none is promised.
  endpoint({ ...write, handle: () => ({ id: 1 }) }),

  // @ts-expect-error JSON, where text is promised.
  endpoint({ ...read, returns: plain("text/plain"), handle: () => ({ id: 1 }) }),

  // @ts-expect-error A long-lived write.
  endpoint({ ...write, longLived: { maxConnections: 1, heartbeatMs: 1, heartbeat: "" }, handle: () => {} }),

  // @ts-expect-error `page` where the answer is no page.
  endpoint({ ...read, returns, handle: ({ page }) => ({ id: page }) }),

  // @ts-expect-error Another item than the page is of.
  endpoint({ ...list, handle: ({ db, page }) => page(db.selectFrom("users as u").select("u.id"), () => ({ id: "" })) }),

  // @ts-expect-error The database beside the transaction of a write.
  endpoint({ ...write, returns, handle: ({ db }) => ({ id: db }) }),

  // @ts-expect-error The loaders beside the transaction of a write.
  endpoint({ ...write, returns, handle: ({ databases }) => ({ id: databases }) }),

  // @ts-expect-error A transaction in a read.
  endpoint({ ...read, returns, handle: ({ tx }) => ({ id: tx }) }),

  // @ts-expect-error A transaction of the kernel's where the handler has its own.
  endpoint({ ...write, transaction: "own", returns, handle: ({ tx }) => ({ id: tx }) }),

  // @ts-expect-error A write without its audit event.
  endpoint({ ...read, method: "DELETE", handle: () => {} }),

  // @ts-expect-error A parameter that is not declared.
  endpoint({ ...read, returns, handle: ({ params: { name } }) => ({ id: name }) }),

  // @ts-expect-error What the access rule does not grant.
  endpoint({ ...read, returns, handle: ({ project }) => ({ id: project }) }),

  // @ts-expect-error An actor who may be null.
  endpoint({ ...read, returns, handle: ({ actor }) => ({ id: actor.user.id }) }),

  // @ts-expect-error The bytes of a body that is read as parameters.
  endpoint({ ...write, returns, handle: ({ body }) => ({ id: body }) }),

  // @ts-expect-error A stream where the body is kept in memory.
  endpoint({ ...write, body: raw, returns, handle: ({ body }) => ({ id: body.pipe }) }),
];
