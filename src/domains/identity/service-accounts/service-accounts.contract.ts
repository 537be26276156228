import type { Contract, FixtureContext, Parent } from "#test/contract.ts";
import { inGroup, line, NEW_TOKEN, READ, TOP, WRITE } from "#test/matrix/line.ts";
import { insert, token } from "#test/matrix/rows.ts";
import type { TestUser } from "#test/support/app.ts";

const ACCOUNT = { ...TOP, child: "service account" } as const;
const ROBOT = { user_type: "service_account" } as const;
const SHUT = { archived: 403, "marked for deletion": 403 } as const;

/** Makes a service account for each group. */
async function accounts({ makeUser }: FixtureContext, parents: readonly Parent[]): Promise<TestUser[]> {
  const made: TestUser[] = [];
  for (const { id } of parents) made.push(await makeUser({ ...ROBOT, provisioned_by_group_id: id }));
  return made;
}

export const contract: Contract = {
  lines: {
    "GET /service_accounts": line(401, 403, 200, READ),
    "POST /service_accounts": line(401, 403, 201, WRITE, { entity: "User" }),
    "PATCH /service_accounts/:id": line(401, 403, [400, 200, 404], WRITE, {
      ...{ object: "newcomer", newcomer: ROBOT, send: "name=*" },
    }),
    "GET /groups/:id/service_accounts": inGroup("owner", 200, READ, { ...TOP, holds: "service account" }),
    "POST /groups/:id/service_accounts": inGroup("owner", 201, WRITE, { ...TOP, answers: SHUT }),
    "PATCH /groups/:id/service_accounts/:user_id": inGroup("owner", 200, WRITE, { ...ACCOUNT, send: "name=*" }),
    "DELETE /groups/:id/service_accounts/:user_id": inGroup("owner", 204, WRITE, ACCOUNT),
    "GET /groups/:id/service_accounts/:user_id/personal_access_tokens": inGroup("owner", 200, READ, {
      ...{ ...TOP, child: "service account with tokens" },
    }),
    "POST /groups/:id/service_accounts/:user_id/personal_access_tokens": inGroup("owner", 201, WRITE, {
      ...{ ...ACCOUNT, send: NEW_TOKEN },
    }),
    "POST /groups/:id/service_accounts/:user_id": inGroup("owner", 201, WRITE, { ...ACCOUNT, send: NEW_TOKEN }),
    "DELETE /groups/:id/service_accounts/:user_id/personal_access_tokens/:token_id": inGroup("owner", 204, WRITE, {
      ...{ ...TOP, child: "service account token" },
    }),
    "POST /groups/:id/service_accounts/:user_id/personal_access_tokens/:token_id/rotate": inGroup("owner", 200, WRITE, {
      ...{ ...TOP, child: "service account token", endsFamily: true },
    }),
  },
  fixtures: {
    "service account": {
      parents: ["top group"],
      make: async (context, parents) => (await accounts(context, parents)).map(({ id }) => id),
    },
    "service account with tokens": {
      parents: ["top group"],
      async make(context, parents) {
        const ids = (await accounts(context, parents)).map(({ id }) => id);
        await insert(
          context.db,
          "personal_access_tokens",
          [...ids, ...ids, ...ids].map((id) => token(id)),
        );
        return ids;
      },
    },
    "service account token": {
      parents: ["top group"],
      make: async (context, parents) => (await accounts(context, parents)).map(({ id, tokenId }) => [id, tokenId]),
    },
  },
};
