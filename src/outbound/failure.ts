/** Why there is no answer; the texts name neither addresses nor anything that the other side sent. */
const TEXTS = {
  url: "must be an http or https URL without user name and password",
  // The same for a name that does not exist: the difference would tell which names exist in the local network.
  destination: "must lead to a public address",
  request: "cannot be sent: a header or certificate is malformed",
  unreachable: "cannot be connected to",
  certificate: "has no certificate that is trusted for its name",
  timeout: "does not answer in time",
  redirect: "redirects too often, from https to http, or with a body to another site",
  "too large": "answers with more than is accepted",
  malformed: "does not answer in valid HTTP",
} as const;

export type Reason = keyof typeof TEXTS;

export interface Failure {
  readonly reason: Reason;
  /** What to tell people, to be read after the name of the parameter or site. */
  readonly message: string;
}

export const failure = (reason: Reason): Failure => ({ reason, message: TEXTS[reason] });

/** Ends a request that the guard itself gives up. */
export class OutboundError extends Error {
  readonly reason: Reason;

  constructor(reason: Reason) {
    super(TEXTS[reason]);
    this.reason = reason;
  }
}

const BAD_REQUEST = /^ERR_(INVALID_(CHAR|HTTP_TOKEN)|UNESCAPED_CHARACTERS|HTTP_INVALID_HEADER_VALUE|OSSL_PEM)/;
const BAD_CERTIFICATE = /^(ERR_(TLS|SSL|OSSL)|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH|EPROTO)/;

/** The reason for an error of a connection; undefined for any other error, which is a bug. */
export function reasonOfError(error: unknown): Reason | undefined {
  if (error instanceof OutboundError) return error.reason;
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (typeof code !== "string") return undefined;
  if (BAD_REQUEST.test(code)) return "request";
  if (BAD_CERTIFICATE.test(code)) return "certificate";
  return code.startsWith("HPE_") ? "malformed" : "unreachable";
}
