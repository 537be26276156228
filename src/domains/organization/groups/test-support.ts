import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Insertable } from "kysely";
import type { TSchema } from "typebox";
import Value from "typebox/value";
import type { Database } from "#db/types.ts";
import type { Reply, TestApp, TestUser } from "#test/support/app.ts";

/** A name that nothing has yet. */
export const word = (start = "g") => `${start}-${randomUUID().slice(0, 13)}`;

/** Creates a group through the API, private by default. */
export async function makeGroup(app: TestApp, owner: TestUser, given: Record<string, unknown> = {}) {
  const path = word();
  const { status, body, text } = await app.post("/groups", {
    token: owner.token,
    payload: { name: path, path, ...given },
  });
  assert.equal(status, 201, text);
  return body as { id: number; path: string; full_path: string; name: string };
}

/** Gives a user a level in a group. */
export const join = (app: TestApp, groupId: number, user: TestUser, level: number) =>
  app.services.db.write
    .insertInto("members")
    .values({ group_id: groupId, user_id: user.id, access_level: level })
    .execute();

/** Creates a project in a namespace, private by default. */
export const makeProject = (
  app: TestApp,
  namespaceId: number,
  given: Partial<Insertable<Database["projects"]>> = {},
) => {
  const path = word("p");
  return app.services.db.write
    .insertInto("projects")
    .values({ namespace_id: namespaceId, name: path, path, ...given })
    .returning(["id", "path", "name"])
    .executeTakeFirstOrThrow();
};

/** Asserts the status and shape of an answer and returns its body. */
export function shaped({ status, body, text }: Reply, expected: number, schema: TSchema): any {
  assert.equal(status, expected, text);
  assert.deepEqual([...Value.Errors(schema, body)].slice(0, 3), []);
  return body;
}
