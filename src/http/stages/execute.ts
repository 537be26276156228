import type { Authenticated } from "#access/authenticate.ts";
import { type Actor, actorOf } from "#access/principal.ts";
import { auditEntry, writeAudit } from "#http/audit.ts";
import { type AuditTarget, eventOf, type HandlerContext } from "#http/endpoint.ts";
import type { Exchange } from "#http/exchange.ts";
import { idempotencyKey, type KeyedRequest, requestDigest } from "#http/idempotency/keyed-request.ts";
import { replayed } from "#http/idempotency/replay.ts";
import { claimKey, storeResponse } from "#http/idempotency/responses.ts";
import type { Route } from "#http/route.ts";
import type { Received } from "./receive.ts";

/** Runs the handler: a read as it is, a write in a transaction with its audit row. Returns the body of the response. */
export async function execute(
  route: Route,
  exchange: Exchange,
  received: Received,
  caller: Authenticated,
  context: HandlerContext,
): Promise<unknown> {
  const keyed = route.endpoint.idempotent && keyedRequest(route, exchange, caller, context.params);
  route.admitLongLived?.(exchange.reply.raw);
  if (route.prepare) Object.assign(context, await route.prepare(context));
  if (route.isRead) return route.handle(context);
  if (route.endpoint.transaction === "own") return executeWithOwnTransactions(route, exchange, received, context);
  return executeInTransaction(route, exchange, received, context, keyed);
}

function keyedRequest(
  { operation }: Route,
  { request }: Exchange,
  { used, principal }: Authenticated,
  params: object,
): KeyedRequest | undefined {
  const actor = actorOf(principal);
  if (!used || !actor) return undefined;
  const key = idempotencyKey(request.headers);
  if (key === undefined) return undefined;
  const credential = "token_digest" in used ? used.token_digest : used.session_digest;
  return { credential, key, digest: requestDigest(operation, actor, params) };
}

/** A deadlock runs all of it again; the audit row and the stored response commit with the write. */
async function executeInTransaction(
  route: Route,
  exchange: Exchange,
  { origin }: Received,
  context: HandlerContext,
  keyed: KeyedRequest | undefined,
): Promise<unknown> {
  const { db, sealing } = route.services;
  const { stored, body } = await db.transaction(async (tx) => {
    const stored = keyed && (await claimKey(tx, sealing, keyed));
    if (stored) return { stored };
    let target: AuditTarget | undefined;
    const audit = (named: AuditTarget) => (target = named);
    const body = await route.handle({ ...context, tx, audit, setStatus: statusSetter(exchange) });
    const actor = actorOf(exchange.principal);
    const event = recordedEvent(route, actor, target);
    if (event !== undefined) await writeAudit(tx, event, actor, origin, target ?? containerOf(route, context, actor));
    if (keyed) await storeResponse(tx, sealing, keyed, { status: exchange.status ?? route.success, body });
    return { body };
  });
  return stored ? replayed(exchange, stored) : body;
}

/** A write with transactions of its own inserts its audit row in the one that commits the change. */
const executeWithOwnTransactions = (
  route: Route,
  exchange: Exchange,
  { origin }: Received,
  context: HandlerContext,
): unknown =>
  route.handle({
    ...context,
    auditEntry: (target: AuditTarget) =>
      auditEntry(eventOf(route.endpoint.audit) ?? route.operation, actorOf(exchange.principal), origin, target),
    actsForAnother: actsForAnother(actorOf(exchange.principal)),
    setStatus: statusSetter(exchange),
  });

/** Whether the request was not made by the user whose rights it has. */
const actsForAnother = (actor: Actor | null): boolean =>
  actor !== null && (actor.sudoer !== undefined || ("token" in actor && actor.token.impersonation === true));

/** The event that the audit log gets, if any. */
function recordedEvent({ endpoint: { audit } }: Route, actor: Actor | null, target: AuditTarget | undefined) {
  if (typeof audit !== "object" || audit === null) return audit ?? undefined;
  const isOfAnother = target?.writtenBy !== undefined && target.writtenBy !== actor?.user.id;
  return actsForAnother(actor) || isOfAnother ? audit.forOthers : undefined;
}

/** What an event that is recorded for others concerns unless the handler says more: the project, group or user, and ids. */
function containerOf({ endpoint: { audit }, pathNames }: Route, context: HandlerContext, actor: Actor | null) {
  if (typeof audit !== "object") return undefined;
  const { project, group, params } = context as Partial<Record<"project" | "group", { id: number; path: string }>> &
    HandlerContext;
  const details = Object.fromEntries(
    Object.entries(params).filter(([name]) => name !== "id" && pathNames.includes(name)),
  );
  const target = (type: "Project" | "Group" | "User", id: number, name: string): AuditTarget => ({
    ...{ type, id, name, details },
    entity: { type, id },
  });
  if (project) return target("Project", project.id, project.path);
  if (group) return target("Group", group.id, group.path);
  return actor ? target("User", actor.user.id, actor.user.username) : undefined;
}

const statusSetter = (exchange: Exchange) => (status: number) => void (exchange.status = status);
