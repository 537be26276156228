import Type from "typebox";
import { File, Id, Nullable } from "#http/params/vocabulary.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";
import { AlertId } from "#domains/monitoring/alerts/params.ts";

const link = {
  url: Type.Optional(Nullable(Type.String({ maxLength: 255, description: "Where the chart is" }))),
  url_text: Type.Optional(Nullable(Type.String({ maxLength: 128, description: "What is shown for `url`" }))),
};

export const NewMetricImage = Type.Object({ ...AlertId.properties, file: File, ...link });

export const MetricImageId = Type.Object({ ...AlertId.properties, metric_image_id: Id });

export const MetricImageChanges = Type.Object(
  { ...MetricImageId.properties, ...link },
  { atLeastOneOf: [Object.keys(link)] },
);

export const MetricImageFile = Type.Object({
  ...ProjectId.properties,
  metric_image_id: Id,
  filename: Type.String({ maxLength: 255 }),
});
