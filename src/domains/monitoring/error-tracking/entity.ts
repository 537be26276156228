import Type, { type Static } from "typebox";
import { API } from "#http/paths.ts";
import { Nullable } from "#http/params/vocabulary.ts";
import { ORIGINAL_NAMES } from "#domains/foundation/original-names.ts";
import type { ClientKeyRow, SettingsRow } from "./queries.ts";

const exact = { additionalProperties: false };
const Url = Type.String({ format: "uri" });

/** Whether a project collects errors, and where. */
export const ErrorTrackingSettings = Type.Object(
  {
    active: Type.Boolean(),
    project_name: Nullable(Type.String({ description: "Of an external backend" })),
    tracker_external_url: Nullable(Url),
    [ORIGINAL_NAMES.tracker_external_url]: Nullable(Url),
    api_url: Nullable(Url),
    integrated: Type.Boolean(),
  },
  { ...exact, title: "ErrorTrackingSettings" },
);

/** A key by which applications report errors. */
export const ErrorTrackingClientKey = Type.Object(
  {
    id: Type.Integer(),
    active: Type.Boolean(),
    public_key: Type.String(),
    tracker_dsn: Type.String({ format: "uri", description: "What an error-reporting client is configured with" }),
    [ORIGINAL_NAMES.tracker_dsn]: Url,
  },
  { ...exact, title: "ErrorTrackingClientKey" },
);

/** No parameter names an external backend, so none has a name or an address. */
export const presentSettings = ({ active, integrated }: SettingsRow): Static<typeof ErrorTrackingSettings> => ({
  active,
  project_name: null,
  tracker_external_url: null,
  [ORIGINAL_NAMES.tracker_external_url]: null,
  api_url: null,
  integrated,
});

export const presentClientKey =
  (site: string) =>
  (row: ClientKeyRow): Static<typeof ErrorTrackingClientKey> => {
    const dsn = dsnOf(site, row);
    const { id, active, public_key } = row;
    return { id, active, public_key, tracker_dsn: dsn, [ORIGINAL_NAMES.tracker_dsn]: dsn };
  };

/** Clients report to `…/collector/api/:project_id/envelope/`: they put `api` before the last part of this path. */
const dsnOf = (site: string, { public_key, project_id }: ClientKeyRow): string =>
  `${site.replace("://", `://${public_key}@`)}${API}/error_tracking/collector/${project_id}`;
