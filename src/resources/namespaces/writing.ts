import type { Actor } from "#access/actor.ts";
import type { InstanceSettings } from "#db/settings.ts";
import type { Blobs } from "#lib/blobs.ts";
import type { Services } from "#services.ts";

/** What a write of a group or project needs beside what was asked for. */
export interface Writing {
  readonly actor: Actor;
  readonly settings: InstanceSettings;
  readonly blobs: Blobs;
}

/** The same out of what an endpoint was handed. */
export const writing = async ({ actor, services }: { actor: Actor; services: Services }): Promise<Writing> => ({
  actor,
  settings: await services.settings.current(),
  blobs: services.blobs,
});
