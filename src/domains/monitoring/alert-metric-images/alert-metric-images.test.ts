import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type AlertProject, type AlertsApp, alertsApp } from "#domains/monitoring/alerts/test-support.ts";
import { accepted } from "#domains/planning/issues/test-support.ts";
import type { TestUser } from "#test/support/app.ts";
import { GIF } from "#test/support/images.ts";
import { multipart } from "#test/support/wire.ts";

describe("metric images of an alert", () => {
  let on: AlertsApp;
  let at: AlertProject;
  before(async () => {
    on = await alertsApp();
    at = await on.project();
  });
  after(() => on.app.close());

  /** A new alert, and the path of its images. */
  async function newAlert(project = at) {
    const { id, iid } = await on.alert(project);
    return { id, iid, images: `${project.alerts}/${iid}/metric_images` };
  }

  interface Sent {
    readonly bytes?: Buffer;
    readonly filename?: string;
    readonly fields?: Record<string, string>;
    readonly user?: TestUser;
  }
  function upload(path: string, { bytes = GIF, filename = "cpu.gif", fields = {}, user = at.developer }: Sent = {}) {
    const form = multipart({ ...fields, file: { filename, bytes } });
    return on.app.post(path, { ...form, headers: { ...form.headers, "private-token": user.token } });
  }
  const added = async (path: string, sent?: Sent) => accepted(await upload(path, sent), 201);
  const list = async (path: string) => accepted(await on.app.get(path, { token: at.developer.token }), 200);
  const fetchFile = (path: string, { token }: TestUser) =>
    on.app.app.inject({ url: path, headers: { "private-token": token } });

  test("an image is stored, listed and served to those who may see the alert", async () => {
    const { images } = await newAlert();
    const fields = { url: " https://charts.example.com/cpu ", url_text: "CPU" };
    const image = await added(images, { filename: "../../Größe of cpu.svg", fields });
    const filename = "Gr_e_of_cpu.gif";
    assert.deepEqual(image, {
      ...{
        id: image.id,
        created_at: image.created_at,
        filename,
        url: "https://charts.example.com/cpu",
        url_text: "CPU",
      },
      file_path: `/uploads/-/system/project/alert_metric_image/${at.id}/${image.id}/${filename}`,
    });
    const second = await added(images);
    assert.deepEqual([second.url, second.url_text], [null, null]);
    assert.deepEqual(await list(images), [image, second]);
    const file = await fetchFile(image.file_path, at.developer);
    assert.deepEqual([file.statusCode, file.headers["content-type"]], [200, "image/gif"]);
    assert.equal(file.headers["x-content-type-options"], "nosniff");
    assert.deepEqual(file.rawPayload, GIF);
    const reporter = await on.member(at, "reporter");
    assert.equal((await fetchFile(image.file_path, reporter)).statusCode, 403);
    assert.equal((await fetchFile(image.file_path, await on.app.makeUser())).statusCode, 404);
    assert.equal((await on.app.get(image.file_path)).status, 401);
  });

  test("the file has its own name in its own project only", async () => {
    const { images } = await newAlert();
    const { id, file_path } = await added(images);
    const other = await on.project();
    await on.insert.member(at.developer, { project_id: other.id }, "developer");
    for (const path of [
      file_path.replace("cpu.gif", "other.gif"),
      file_path.replace(`/${id}/`, `/${id + 1000}/`),
      file_path.replace(`/${at.id}/`, `/${other.id}/`),
    ]) {
      const { statusCode, payload } = await fetchFile(path, at.developer);
      assert.deepEqual([statusCode, payload], [404, '{"message":"Metric image not found"}'], path);
    }
  });

  test("what is no image, has a private URL or too long a text is refused, and nothing is stored", async () => {
    const { images } = await newAlert();
    const bytes = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>');
    const refused = await upload(images, { bytes, filename: "a.png", fields: { url: "http://127.0.0.1/" } });
    assert.equal(refused.status, 400);
    const supported = "png, jpg, gif, bmp, tiff, ico, webp";
    assert.deepEqual(refused.body.message, {
      url: ["must lead to a public address"],
      file: [`file format is not supported. Please try one of the following supported formats: ${supported}`],
    });
    assert.equal(await on.app.services.blobs.get(hash("sha256", bytes, "hex")), undefined);
    assert.equal((await upload(images, { bytes: Buffer.alloc(2 ** 20 + 1) })).status, 413);
    const long = await upload(images, {
      fields: { url: `https://e.com/${"x".repeat(255)}`, url_text: "x".repeat(129) },
    });
    const error = "url is too long (maximum is 255 characters), url_text is too long (maximum is 128 characters)";
    assert.deepEqual([long.status, long.body], [400, { error }]);
    const without = await on.app.post(images, { token: at.developer.token, payload: { url_text: "x" } });
    assert.deepEqual([without.status, without.body], [400, { error: "file is missing" }]);
    assert.deepEqual(await list(images), []);
  });

  test("an image of 1 MiB is stored", async () => {
    const { images } = await newAlert();
    await added(images, { bytes: Buffer.concat([GIF, Buffer.alloc(2 ** 20 - GIF.length)]) });
  });

  test("its link can be changed and removed", async () => {
    const { images } = await newAlert();
    const image = await added(images, { fields: { url_text: "CPU" } });
    const put = (payload: object) => on.app.put(`${images}/${image.id}`, { token: at.developer.token, payload });
    const changed = accepted(await put({ url: "https://example.com" }), 200);
    assert.deepEqual([changed.url, changed.url_text], ["https://example.com", "CPU"]);
    assert.equal((await put({ url: "ftp://example.com" })).status, 400);
    assert.equal((await put({})).status, 400);
    const cleared = accepted(await put({ url: null, url_text: "" }), 200);
    assert.deepEqual(cleared, { ...image, url: null, url_text: null });
  });

  test("it can be removed, together with its file", async () => {
    const { images } = await newAlert();
    const { id, file_path } = await added(images);
    const remove = () => on.app.delete(`${images}/${id}`, { token: at.developer.token });
    assert.equal((await remove()).status, 204);
    assert.deepEqual(await list(images), []);
    assert.equal((await fetchFile(file_path, at.developer)).statusCode, 404);
    const again = await remove();
    assert.deepEqual([again.status, again.body], [404, { message: "Metric image not found" }]);
  });

  test("an alert has at most fifty, also if two are added at once", async () => {
    const { id, images } = await newAlert();
    await sql`insert into alert_metric_images (alert_id, blob, filename)
      select ${id}, repeat('0', 64), n || '.gif' from generate_series(1, 49) n`.execute(on.app.services.db.write);
    const replies = await Promise.all([upload(images), upload(images)]);
    assert.deepEqual(
      replies.map(({ status }) => status).toSorted((a, b) => a - b),
      [201, 422],
    );
    const full = await upload(images);
    assert.deepEqual(full.body, { message: "An alert can have at most 50 metric images" });
    assert.equal((await list(images)).length, 50);
  });

  test("the image of another alert, and those of a missing one, are not found", async () => {
    const [one, other] = [await newAlert(), await newAlert()];
    const { id } = await added(one.images);
    const { token } = at.developer;
    const missing = [404, { message: "Metric image not found" }];
    const put = await on.app.put(`${other.images}/${id}`, { token, payload: { url_text: "x" } });
    assert.deepEqual([put.status, put.body], missing);
    const removed = await on.app.delete(`${other.images}/${id}`, { token });
    assert.deepEqual([removed.status, removed.body], missing);
    const nowhere = `${at.alerts}/9999999/metric_images`;
    for (const { status, body } of [await on.app.get(nowhere, { token }), await upload(nowhere)])
      assert.deepEqual([status, body], [404, { message: "Alert not found" }]);
  });
});
