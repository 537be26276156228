import { sql } from "kysely";
import type { Static } from "typebox";
import type { Tx } from "#db/database.ts";
import type { UploadedFile } from "#http/params/raw.ts";
import { type Problems, refuse, throwProblems } from "#lib/problems.ts";
import type { Services } from "#services.ts";
import { imageKind, NOT_SUPPORTED } from "#domains/foundation/avatars/images.ts";
import { type Bound, refuseMore } from "#domains/foundation/row-bounds.ts";
import { lockAlert } from "#domains/monitoring/alerts/queries.ts";
import type { MetricImageChanges } from "./params.ts";
import { lockMetricImage, METRIC_IMAGE, type MetricImageRow } from "./queries.ts";

type Link = Pick<Static<typeof MetricImageChanges>, "url" | "url_text">;

interface NewImage extends Link {
  readonly blob: string;
  readonly filename: string;
}

const IMAGES_BOUND: Bound = {
  ...{ table: "alert_metric_images", container: "alerts", column: "alert_id", max: 50 },
  message: "An alert can have at most 50 metric images",
};
const MAX_NAME_LENGTH = 100;

/** Checks an image and stores its content, before the transaction that refers to it. */
export async function storedImage(
  { outbound, blobs }: Pick<Services, "outbound" | "blobs">,
  { file, ...link }: Link & { readonly file: UploadedFile },
): Promise<NewImage> {
  const kind = imageKind(file.bytes);
  const problems = await linkProblems(outbound, link);
  if (kind === undefined) refuse(problems, "file", NOT_SUPPORTED);
  throwProblems(problems);
  return { ...linkColumns(link), blob: await blobs.put(file.bytes), filename: `${nameOf(file)}.${kind}` };
}

/** What remains of a file's name without its extension, which may not be true, and without what is unusual in a path. */
const nameOf = ({ filename }: UploadedFile): string =>
  filename
    .replace(/^.*[/\\]/, "")
    .replace(/\.[^.]*$/, "")
    .replaceAll(/[^\w-]+/g, "_")
    .slice(0, MAX_NAME_LENGTH) || "image";

export async function checkLink({ outbound }: Pick<Services, "outbound">, link: Link) {
  throwProblems(await linkProblems(outbound, link));
}

async function linkProblems(outbound: Services["outbound"], { url }: Link): Promise<Problems> {
  const problem = url?.trim() ? await outbound.urlProblem(url.trim()) : undefined;
  return problem ? { url: [problem.message] } : {};
}

/** What is left out stays as it is; a blank text removes it. */
const linkColumns = ({ url, url_text }: Link): Link => ({
  ...(url !== undefined && { url: url?.trim() || null }),
  ...(url_text !== undefined && { url_text: url_text?.trim() || null }),
});

export async function addMetricImage(tx: Tx, projectId: number, iid: number, image: NewImage): Promise<MetricImageRow> {
  const alert = await lockAlert(tx, projectId, iid);
  await refuseMore(tx, IMAGES_BOUND, alert.id);
  return tx
    .insertInto("alert_metric_images")
    .values({ ...image, alert_id: alert.id })
    .returning(METRIC_IMAGE)
    .executeTakeFirstOrThrow();
}

interface Changes extends Link {
  readonly alert_iid: number;
  readonly metric_image_id: number;
}

export async function changeMetricImage(tx: Tx, projectId: number, changes: Changes): Promise<MetricImageRow> {
  const { id } = await lockMetricImage(tx, projectId, changes);
  return tx
    .updateTable("alert_metric_images")
    .set({ ...linkColumns(changes), updated_at: sql<string>`now()` })
    .where("id", "=", id)
    .returning(METRIC_IMAGE)
    .executeTakeFirstOrThrow();
}

export async function removeMetricImage(
  tx: Tx,
  projectId: number,
  named: Pick<Changes, "alert_iid" | "metric_image_id">,
): Promise<MetricImageRow> {
  const image = await lockMetricImage(tx, projectId, named);
  await tx.deleteFrom("alert_metric_images").where("id", "=", image.id).execute();
  return image;
}
