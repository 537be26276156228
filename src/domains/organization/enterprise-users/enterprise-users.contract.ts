import type { Contract } from "#test/contract.ts";
import { inGroup, READ, TOP, WRITE } from "#test/matrix/line.ts";
import { insert, word } from "#test/matrix/rows.ts";

export const contract: Contract = {
  lines: {
    "GET /groups/:id/enterprise_users": inGroup("owner", 200, READ, { ...TOP, holds: "enterprise user" }),
    "GET /groups/:id/enterprise_users/:user_id": inGroup("owner", 200, READ, { ...TOP, child: "enterprise user" }),
    "PATCH /groups/:id/enterprise_users/:user_id/disable_two_factor": inGroup("owner", 204, WRITE, {
      ...TOP,
      child: "enterprise user",
    }),
    "GET /groups/:id/saml_users": inGroup("owner", 200, READ, { ...TOP, holds: "SAML user" }),
  },
  fixtures: {
    "enterprise user": {
      parents: ["top group"],
      async make({ makeUser }, parents) {
        const ids: number[] = [];
        for (const { id } of parents)
          ids.push((await makeUser({ provisioned_by_group_id: id, two_factor_enabled: true })).id);
        return ids;
      },
    },
    "SAML user": {
      parents: ["top group"],
      async make({ db, person }, parents) {
        const users = await Promise.all(parents.map(({ name }) => person(name)));
        await insert(
          db,
          "identities",
          parents.map(({ id }, index) => ({
            ...{ user_id: users[index], provider: "group_saml", extern_uid: word(), saml_provider_id: id },
            created_at: new Date().toISOString(),
          })),
        );
        return users;
      },
    },
  },
};
