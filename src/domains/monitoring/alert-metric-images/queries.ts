import { sql } from "kysely";
import type { Db, Tx } from "#db/database.ts";
import { Refusal } from "#lib/refusal.ts";
import { requireAlert } from "#domains/monitoring/alerts/queries.ts";

export const METRIC_IMAGE = ["id", "filename", "url", "url_text", "created_at", "updated_at"] as const;

/** The images of an alert, the oldest first. There are at most fifty. */
export const metricImagesOf = (db: Db, alertId: number) =>
  db.selectFrom("alert_metric_images as m").select(METRIC_IMAGE).where("m.alert_id", "=", alertId).orderBy("m.id");

export type MetricImageRow = Awaited<ReturnType<ReturnType<typeof metricImagesOf>["executeTakeFirstOrThrow"]>>;

interface ImageId {
  readonly alert_iid: number;
  readonly metric_image_id: number;
}

export async function requireMetricImage(db: Db, projectId: number, named: ImageId): Promise<MetricImageRow> {
  const alert = await requireAlert(db, projectId, named.alert_iid);
  return found(await metricImagesOf(db, alert.id).where("m.id", "=", named.metric_image_id).executeTakeFirst());
}

/** The same, locked against other changes. */
export async function lockMetricImage(tx: Tx, projectId: number, named: ImageId): Promise<MetricImageRow> {
  const alert = await requireAlert(tx, projectId, named.alert_iid);
  const locked = metricImagesOf(tx, alert.id).where("m.id", "=", named.metric_image_id).forUpdate("m");
  return found(await locked.executeTakeFirst());
}

function found(image: MetricImageRow | undefined): MetricImageRow {
  if (!image) throw noMetricImage();
  return image;
}

export const noMetricImage = () => new Refusal("missing", "Metric image not found");

/** The content of an image of a project by the name of its file. */
export const imageFile = (db: Db, projectId: number, id: number, filename: string) =>
  db
    .selectFrom("alert_metric_images as m")
    .select("m.blob")
    .where("m.id", "=", id)
    .where("m.filename", "=", filename)
    .where(sql<boolean>`exists (select from alerts a where a.id = m.alert_id and a.project_id = ${projectId})`)
    .executeTakeFirst();
