import type { Actor } from "#access/principal.ts";
import type { InstanceSettings } from "#db/settings.ts";
import type { Blobs } from "#lib/blobs.ts";
import type { Services } from "#services.ts";

/** What creating or changing a group or project needs besides the parameters. */
export interface ContainerWriteContext {
  readonly actor: Actor;
  readonly settings: InstanceSettings;
  readonly blobs: Blobs;
}

/** Builds the context from what an endpoint's handler gets. */
export const containerWriteContext = async ({
  actor,
  services,
}: {
  actor: Actor;
  services: Services;
}): Promise<ContainerWriteContext> => ({
  actor,
  settings: await services.settings.current(),
  blobs: services.blobs,
});
