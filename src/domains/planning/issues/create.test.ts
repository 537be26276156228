import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp } from "#test/support/app.ts";

describe("creating issues", () => {
  let app: TestApp;
  before(async () => {
    app = await testApp();
  });
  after(() => app.close());

  test("an issue has the fields of its request", async () => {
    const { token, id } = await app.makeUser();
    const project = await app.post("/projects", { token, payload: { name: "Plan", visibility: "public" } });
    const payload = {
      title: "First",
      description: "- [ ] one\n- [x] two",
      labels: "bug,  urgent",
      assignee_ids: [id],
      due_date: "2030-01-31",
      weight: 3,
    };
    const made = await app.post(`/projects/${project.body.id}/issues`, { token, payload });
    assert.equal(made.status, 201);
    const got = await app.get(`/projects/${project.body.id}/issues/1`, { token });
    assert.deepEqual(got.body, made.body);
  });
});
