import type { Services } from "#services.ts";
import { sealingContext } from "./actions.ts";
import type { ProbeOutcome } from "./entity.ts";
import type { ProbedCluster } from "./queries.ts";

const MAX_BYTES = 64 * 1024;

/** Asks the API of a cluster for its version, as the stored token. */
export async function probe(
  { outbound, sealing }: Services,
  { id, project_id, api_url, ca_cert, sealed_token }: ProbedCluster,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const url = new URL(api_url);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/version`;
  const token = sealed_token && (await sealing.unseal(sealed_token, sealingContext(id)));
  const { answer, failure } = await outbound.request({
    url: url.href,
    consumer: `project:${project_id}`,
    headers: { accept: "application/json", ...(token !== null && { authorization: `Bearer ${token}` }) },
    ...(ca_cert !== null && { ca: ca_cert }),
    maxBytes: MAX_BYTES,
    signal,
  });
  if (failure) return { result: "unreachable", message: `The API ${failure.message}` };
  return outcomeOf(answer.status);
}

function outcomeOf(status: number): ProbeOutcome {
  if (status === 200) return { result: "reachable", message: null };
  const message = `The API answered with status ${status}`;
  return { result: status === 401 || status === 403 ? "token refused" : "unexpected answer", message };
}
