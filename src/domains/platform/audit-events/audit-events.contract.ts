import type { Contract } from "#test/contract.ts";
import { inGroup, inProject, line, READ } from "#test/matrix/line.ts";
import { insertForId, insertForIds, MADE, type Row, word } from "#test/matrix/rows.ts";

const event = (entity_type: "Group" | "Project", entity_id: number): Row => ({
  ...{ event: MADE, actor_name: "matrix", request_id: word(), ip_address: "192.0.2.1" },
  ...{ entity_type, entity_id, target_type: entity_type, target_id: entity_id, target_name: "made" },
});

export const contract: Contract = {
  lines: {
    "GET /audit_events": line(401, 403, 200, READ),
    "GET /audit_events/:id": line(401, 403, 200, READ, { send: "id={event}" }),
    "GET /groups/:id/audit_events": inGroup("owner", 200, READ, { holds: "audit event" }),
    "GET /groups/:id/audit_events/:audit_event_id": inGroup("owner", 200, READ, { child: "audit event" }),
    "GET /projects/:id/audit_events": inProject("maintainer", 200, READ, { holds: "audit event" }),
    "GET /projects/:id/audit_events/:audit_event_id": inProject("maintainer", 200, READ, { child: "audit event" }),
  },
  tables: ["audit_events"],
  fixtures: {
    "audit event": {
      parents: ["group", "project"],
      above: true,
      make: ({ db }, parents) =>
        insertForIds(
          db,
          "audit_events",
          parents.map(({ kind, id }) => event(kind === "group" ? "Group" : "Project", id)),
          "request_id",
        ),
    },
  },
  values: {
    event: ({ db, group, once }) =>
      once("known event", async () =>
        String(await insertForId(db, "audit_events", event("Group", await group("of the known event")))),
      ),
  },
};
