import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Operation, operationsOf } from "#http/app.ts";
import { eventOf } from "#http/endpoint.ts";
import { resources } from "#domains/index.ts";
import type { Entity } from "./contract.ts";
import { actingAccount, type CellSetup, objectId, prepare, requestOf } from "./matrix/requests.ts";
import { type Cell, keyOf } from "./matrix/cells.ts";
import { ADMINISTRATOR, specialRequests, usualCell, WITH_SUDO, withRequest } from "./matrix/usual.ts";
import { makeWorld, type World } from "./matrix/world.ts";
import { type TestApp, testApp, type TestUser } from "./support/app.ts";
import { freshDatabase } from "./support/postgres.ts";

interface AuditEvent {
  readonly request_id: string;
  readonly event_name: string;
  readonly author_id: number;
  readonly sudo_author_id: number | null;
  readonly entity_type: string;
  readonly entity_id: number | null;
  readonly details: {
    readonly ip_address: string;
    readonly target_type: string | null;
    readonly target_id: number | null;
  };
}

const ADDRESS = "203.0.113.7";

/** Sends each write as an administrator, also under sudo, and then looks for its event over HTTP. */
describe("every write leaves its event", () => {
  let app: TestApp;
  let world: World;
  let reader: TestUser;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    world = await makeWorld(app);
    reader = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  const eventsIn = async (list: string, requestId: unknown): Promise<AuditEvent[]> => {
    const { status, body } = await app.get(`${list}${list.includes("?") ? "&" : "?"}per_page=100`, reader);
    assert.equal(status, 200);
    return body.filter((event: AuditEvent) => event.request_id === requestId);
  };

  /** Sends a write and finds its one event in the logs of its entity and of the instance. */
  async function written({ operation, cell, event }: Write) {
    const acting = actingAccount(world, cell);
    assert.ok(acting);
    const request = await specialRequests.get(keyOf(operation))?.(world.context, acting);
    const [setup = {}] = await prepare(world, [cell], true);
    const answer = await app.app.inject(withRequest(requestOf(world, cell, setup), request));
    assert.ok(answer.statusCode >= 200 && answer.statusCode < 300, `${answer.statusCode} ${answer.payload}`);
    const [type, id] = request?.entity ?? entityOf(cell, setup, answer.payload);
    const lists = ["/audit_events", `/audit_events?entity_type=${type}`];
    if (type === "Group") lists.push(`/groups/${id}/audit_events`);
    if (type === "Project") lists.push(`/projects/${id}/audit_events`);
    for (const list of lists) {
      const [found, ...more] = await eventsIn(list, answer.headers["x-request-id"]);
      assert.ok(found, `not in ${list}`);
      assert.deepEqual(more, []);
      assert.equal(found.event_name, event);
      assert.equal(found.author_id, acting.id);
      assert.equal(found.sudo_author_id, cell.caller.sudo ? world.accounts.get(cell.caller.name)?.id : null);
      assert.deepEqual([found.entity_type, found.entity_id], [type, id]);
      assert.equal(found.details.ip_address, ADDRESS);
      assert.equal(
        found.details.target_type === null || found.details.target_id === null,
        request?.hasNoTarget === true,
      );
    }
  }

  /** The expected entity of the event: the one that the request names or creates, or the caller. */
  function entityOf(cell: Cell, setup: CellSetup, payload: string): Entity {
    const { entity, container, object } = cell.line;
    if (entity === "Instance") return [entity, null];
    if (entity) return [entity, (JSON.parse(payload) as { id: number }).id];
    if (container?.child === "project") return ["Project", setup.project ?? 0];
    if (container) return [container.kind === "group" ? "Group" : "Project", setup.container?.id ?? 0];
    const isUser = object === "user" || object === "newcomer";
    return ["User", isUser ? Number(objectId(world, cell, setup)) : (actingAccount(world, cell)?.id ?? 0)];
  }

  const audited = operationsOf(resources).filter(({ endpoint }) => eventOf(endpoint.audit) !== undefined);
  for (const operation of audited) {
    if (typeof operation.endpoint.audit === "string")
      test(`${keyOf(operation)}, by an administrator`, () => written(writeOf(operation, ADMINISTRATOR)));
    // Requests about their own token or session are refused under sudo.
    if (usualCell(operation, WITH_SUDO))
      test(`${keyOf(operation)}, under sudo`, () => written(writeOf(operation, WITH_SUDO)));
  }

  test("nearly every write works under sudo", () => {
    const without = audited.filter((operation) => !usualCell(operation, WITH_SUDO)).map(keyOf);
    assert.deepEqual(without, [
      "POST /personal_access_tokens/self/rotate",
      "DELETE /personal_access_tokens/self",
      "POST /session",
      "DELETE /session",
    ]);
  });
});

interface Write {
  readonly operation: Operation;
  readonly cell: Cell;
  readonly event: string;
}

function writeOf(operation: Operation, caller: string): Write {
  const cell = usualCell(operation, caller);
  assert.ok(cell, `no line lets the ${caller} do it`);
  return { operation, cell, event: eventOf(operation.endpoint.audit) ?? "" };
}
