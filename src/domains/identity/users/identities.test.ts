import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { testApp } from "#test/support/app.ts";

describe("DELETE /users/:id/identities/:provider", () => {
  test("removes the identity: 204, then 404", async () => {
    const app = await testApp();
    try {
      const admin = await app.makeUser({ admin: true });
      const user = await app.makeUser();
      for (const provider of ["github", "ldapmain"]) {
        const payload = { provider, extern_uid: `x${user.id}` };
        await app.put(`/users/${user.id}`, { token: admin.token, payload });
      }
      const remove = (id: number, provider: string, token = admin.token) =>
        app.delete(`/users/${id}/identities/${provider}`, { token });
      assert.equal((await remove(user.id, "github", user.token)).status, 403);
      assert.equal((await remove(user.id, "github")).status, 204);
      const again = await remove(user.id, "github");
      assert.equal(again.status, 404);
      assert.deepEqual(again.body, { message: "404 Identity Not Found" });
      assert.deepEqual((await remove(999_999_999, "github")).body, { message: "404 User Not Found" });
      const { body } = await app.get(`/users/${user.id}`, { token: admin.token });
      assert.deepEqual(body.identities, [{ provider: "ldapmain", extern_uid: `x${user.id}` }]);
    } finally {
      await app.close();
    }
  });
});
