import type { PackCall } from "./storages/storage.ts";

/** The version of its protocol that git asks for, in `Git-Protocol` over HTTP and `GIT_PROTOCOL` over SSH; anything else is not asked for. */
export const protocolOf = (text: string | undefined): PackCall["protocol"] =>
  text === "version=1" || text === "version=2" ? text : undefined;
