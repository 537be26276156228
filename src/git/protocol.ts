import type { PackCall } from "./storages/storage.ts";

/** The protocol version in `Git-Protocol` over HTTP or `GIT_PROTOCOL` over SSH; other values are ignored. */
export const protocolOf = (text: string | undefined): PackCall["protocol"] =>
  text === "version=1" || text === "version=2" ? text : undefined;
