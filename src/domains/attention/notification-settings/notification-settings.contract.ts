import type { Contract } from "#test/contract.ts";
import { inGroup, inProject, line, READ, WRITE } from "#test/matrix/line.ts";

const PUT = { signedIn: true, unaudited: "by oneself", send: "level=mention" } as const;

export const contract: Contract = {
  lines: {
    "GET /notification_settings": line(401, 200, 200, READ),
    "PUT /notification_settings": line(401, 200, 200, WRITE, { unaudited: "by oneself", send: "level=mention" }),
    "GET /groups/:id/notification_settings": inGroup("viewer", 200, READ, { signedIn: true }),
    "PUT /groups/:id/notification_settings": inGroup("viewer", 200, WRITE, PUT),
    "GET /projects/:id/notification_settings": inProject("viewer", 200, READ, { signedIn: true }),
    "PUT /projects/:id/notification_settings": inProject("viewer", 200, WRITE, PUT),
  },
  unrepeatable: { "PUT /notification_settings": "the second time it is so already" },
  tables: ["notification_settings"],
};
