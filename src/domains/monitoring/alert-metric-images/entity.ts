import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import type { MetricImageRow } from "./queries.ts";

const Text = Type.String();

/** A picture of a chart that somebody attached to an alert. */
export const AlertMetricImage = Type.Object(
  {
    id: Type.Integer(),
    created_at: Type.String({ format: "date-time" }),
    filename: Text,
    file_path: Type.String({ description: "The path of the file on this server" }),
    url: Nullable(Text),
    url_text: Nullable(Text),
  },
  { additionalProperties: false, title: "AlertMetricImage" },
);

export const presentMetricImage =
  (project: { readonly id: number }) =>
  ({ id, created_at, filename, url, url_text }: MetricImageRow): Static<typeof AlertMetricImage> => ({
    id,
    created_at,
    filename,
    file_path: `/uploads/-/system/project/alert_metric_image/${project.id}/${id}/${filename}`,
    url,
    url_text,
  });
