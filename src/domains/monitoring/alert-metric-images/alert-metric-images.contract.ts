import { hash } from "node:crypto";
import type { Contract, FixtureContext, Parent } from "#test/contract.ts";
import { inProject, READ, WRITE } from "#test/matrix/line.ts";
import { alert, insertForIds, word } from "#test/matrix/rows.ts";
import { FIRST, list } from "#test/plans/request.ts";
import { GIF } from "#test/support/images.ts";

const PATH = "/projects/:id/alert_management_alerts/:alert_iid/metric_images";
const IMAGE = { child: "alert metric image" } as const;
const READ_ONLY = { answers: { archived: 403, "archived above": 403 } } as const;

/** Images with their alerts. Their content is that of the avatars, which are stored. */
async function makeImages({ db }: FixtureContext, parents: readonly Parent[]) {
  const now = new Date().toISOString();
  const alerts = parents.map(({ id }) => alert(id));
  const ids = await insertForIds(db, "alerts", alerts, "title");
  const images = ids.map((alert_id) => ({
    ...{ alert_id, blob: hash("sha256", GIF, "hex"), filename: `${word()}.gif` },
    ...{ created_at: now, updated_at: now },
  }));
  const imageIds = await insertForIds(db, "alert_metric_images", images, "filename");
  return images.map(({ filename }, at) => ({ iid: alerts[at]?.iid ?? 0, id: imageIds[at] ?? 0, filename }));
}

export const contract: Contract = {
  lines: {
    [`GET ${PATH}`]: inProject("developer", 200, READ, { child: "alert" }),
    [`POST ${PATH}`]: inProject("developer", 201, WRITE, { child: "alert", upload: "file", ...READ_ONLY }),
    [`PUT ${PATH}/:metric_image_id`]: inProject("developer", 200, WRITE, {
      ...IMAGE,
      ...READ_ONLY,
      send: "url_text=CPU",
    }),
    [`DELETE ${PATH}/:metric_image_id`]: inProject("developer", 204, WRITE, { ...IMAGE, ...READ_ONLY }),
    "GET /uploads/-/system/project/alert_metric_image/:id/:metric_image_id/:filename": inProject(
      "developer",
      200,
      READ,
      {
        child: "file of an alert metric image",
      },
    ),
  },
  tables: ["alert_metric_images"],
  plans: {
    sample: `select a.project_id as project, a.iid from alert_metric_images m join alerts a on a.id = m.alert_id
      order by m.id limit 1`,
    requests: ({ project, iid }) =>
      list(`/projects/${project}/alert_management_alerts/${iid}/metric_images`, { places: FIRST }),
    indexes: ({ project, iid }) => ({
      alert_metric_images_of_alert: `/projects/${project}/alert_management_alerts/${iid}/metric_images`,
    }),
  },
  fixtures: {
    "alert metric image": {
      parents: ["project"],
      make: async (context, parents) => (await makeImages(context, parents)).map(({ iid, id }) => [iid, id]),
    },
    "file of an alert metric image": {
      parents: ["project"],
      make: async (context, parents) => (await makeImages(context, parents)).map(({ id, filename }) => [id, filename]),
    },
  },
};
