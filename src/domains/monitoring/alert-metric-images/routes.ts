import Type from "typebox";
import { inProject, type ProjectSeen } from "#access/containers.ts";
import { endpoint, plain } from "#http/endpoint.ts";
import { contentTypeOf } from "#domains/foundation/avatars/images.ts";
import { AlertId } from "#domains/monitoring/alerts/params.ts";
import { requireAlert } from "#domains/monitoring/alerts/queries.ts";
import { addMetricImage, changeMetricImage, checkLink, removeMetricImage, storedImage } from "./actions.ts";
import { AlertMetricImage, presentMetricImage } from "./entity.ts";
import { MetricImageChanges, MetricImageFile, MetricImageId, NewMetricImage } from "./params.ts";
import { imageFile, type MetricImageRow, metricImagesOf, noMetricImage, requireMetricImage } from "./queries.ts";

const PATH = "/projects/:id/alert_management_alerts/:alert_iid/metric_images";
const feature = "monitoring";
const reader = inProject("developer", { feature });
const writer = inProject("developer", { feature, unlessArchived: true });

export const alertMetricImages = {
  list: endpoint({
    method: "GET",
    path: PATH,
    summary: "List the metric images of an alert, at most 50",
    access: reader,
    params: AlertId,
    returns: Type.Array(AlertMetricImage),
    async handle({ db, project, params }) {
      const alert = await requireAlert(db, project.id, params.alert_iid);
      return (await metricImagesOf(db, alert.id).execute()).map(presentMetricImage(project));
    },
  }),

  create: endpoint({
    method: "POST",
    path: PATH,
    summary: "Attach a metric image of up to 1 MiB to an alert",
    access: writer,
    params: NewMetricImage,
    returns: AlertMetricImage,
    audit: "alert_metric_image_added",
    async prepare({ project, params, services }) {
      await requireAlert(services.db.write, project.id, params.alert_iid);
      return { stored: await storedImage(services, params) };
    },
    async handle({ tx, project, params, stored, audit }) {
      const image = await addMetricImage(tx, project.id, params.alert_iid, stored);
      audit(targetOf(image, project));
      return presentMetricImage(project)(image);
    },
  }),

  update: endpoint({
    method: "PUT",
    path: `${PATH}/:metric_image_id`,
    summary: "Change the link of a metric image",
    access: writer,
    params: MetricImageChanges,
    returns: AlertMetricImage,
    audit: "alert_metric_image_changed",
    async prepare({ project, params, services }) {
      await requireMetricImage(services.db.write, project.id, params);
      await checkLink(services, params);
      return {};
    },
    async handle({ tx, project, params, audit }) {
      const image = await changeMetricImage(tx, project.id, params);
      audit(targetOf(image, project));
      return presentMetricImage(project)(image);
    },
  }),

  delete: endpoint({
    method: "DELETE",
    path: `${PATH}/:metric_image_id`,
    summary: "Remove a metric image",
    access: writer,
    params: MetricImageId,
    audit: "alert_metric_image_removed",
    conditional: true,
    async handle({ tx, project, params, audit, unlessModified }) {
      const image = await removeMetricImage(tx, project.id, params);
      unlessModified(image.updated_at);
      audit(targetOf(image, project));
    },
  }),

  file: endpoint({
    method: "GET",
    mount: "root",
    path: "/uploads/-/system/project/alert_metric_image/:id/:metric_image_id/:filename",
    summary: "Get the file of a metric image",
    access: reader,
    params: MetricImageFile,
    returns: plain("image/*"),
    async handle({ db, project, params, services, setHeader }) {
      const image = await imageFile(db, project.id, params.metric_image_id, params.filename);
      const bytes = image && (await services.blobs.get(image.blob));
      if (!bytes) throw noMetricImage();
      setHeader("cache-control", "private, max-age=300");
      setHeader("content-type", contentTypeOf(params.filename));
      return bytes;
    },
  }),
};

const targetOf = ({ id, filename }: MetricImageRow, project: ProjectSeen) =>
  ({ type: "AlertMetricImage", id, name: filename, entity: { type: "Project", id: project.id } }) as const;
