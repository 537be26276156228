import type { Contract } from "#test/contract.ts";
import { inGroup, READ, TOP, WRITE } from "#test/matrix/line.ts";
import { insertForIds, word } from "#test/matrix/rows.ts";

export const contract: Contract = {
  lines: {
    "GET /groups/:id/verified_domains": inGroup("owner", 200, READ, { ...TOP, holds: "domain" }),
    "GET /groups/:id/verified_domains/:domain_id": inGroup("owner", 200, READ, { ...TOP, child: "domain" }),
    "POST /groups/:id/verified_domains": inGroup("owner", 201, WRITE, { ...TOP, send: "domain=*.test" }),
    "DELETE /groups/:id/verified_domains/:domain_id": inGroup("owner", 204, WRITE, { ...TOP, child: "domain" }),
    // An Owner has to prove it, an administrator's word is enough.
    "POST /groups/:id/verified_domains/:domain_id/verify": {
      ...inGroup("owner", 200, WRITE, { ...TOP, child: "domain" }),
      user: 400,
    },
  },
  tables: ["verified_domains"],
  differing: ["domain", "email_domain", "verified_at", "verification_code"],
  fixtures: {
    domain: {
      parents: ["top group"],
      make: ({ db }, parents) =>
        insertForIds(
          db,
          "verified_domains",
          parents.map(({ id }) => ({
            ...{ group_id: id, domain: `${word()}.test`, verification_code: word() },
            created_at: new Date().toISOString(),
          })),
          "domain",
        ),
    },
  },
};
