import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";
import { testApp } from "#test/support/app.ts";

const HOSTS = ["one.example", "two.example:8443", "localhost"];

describe("addresses that the installation assigns", () => {
  for (const [env, host] of [
    [{ FAIRLEAD_EXTERNAL_URL: "https://code.example:8443/fleet" }, "code.example"],
    [{}, "localhost"],
  ] as const) {
    test(`are at ${host}, whatever host a request names`, async () => {
      const app = await testApp({ env: { FAIRLEAD_ALLOWED_HOSTS: "*", ...env } });
      try {
        const admin = await app.makeUser({ admin: true, commit_email: "_private" });
        const { token } = admin;
        const hidden = `${admin.id}-${admin.username}@users.noreply.${host}`;
        for (const named of HOSTS) {
          const call = { token, headers: { host: named } };
          assert.equal((await app.get("/user", call)).body.commit_email, hidden);
          assert.equal((await app.get(`/users/${admin.id}`, call)).body.commit_email, hidden);

          const payload = { name: `P ${randomUUID()}`, initialize_with_readme: true };
          const { body: project } = await app.post("/projects", { ...call, payload });
          const { body: commits } = await app.get(`/projects/${project.id}/repository/commits`, call);
          assert.deepEqual([commits[0].author_email, commits[0].committer_email], [hidden, hidden]);
          const actions = [{ action: "create", file_path: "a", content: "1" }];
          const change = { branch: "main", commit_message: "Add", actions };
          const made = await app.post(`/projects/${project.id}/repository/commits`, { ...call, payload: change });
          assert.equal(made.body.author_email, hidden);

          const account = await app.post("/service_accounts", call);
          assert.equal(account.body.email.split("@")[1], `noreply.${host}`);
        }
      } finally {
        await app.close();
      }
    });
  }
});
