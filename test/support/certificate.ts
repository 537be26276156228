import { execFileSync } from "node:child_process";
import { isIP } from "node:net";
import { join } from "node:path";

/** The files of a certificate, which signs itself, and its key. */
export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

/** `host` is a name or an address. */
export function makeCertificate(directory: string, host: string): Certificate {
  const made = { certificate: join(directory, "certificate.pem"), key: join(directory, "key.pem") };
  const about = [
    "-subj",
    `/CN=${host}`,
    "-addext",
    `subjectAltName=${isIP(host) ? "IP" : "DNS"}:${host}`,
    "-days",
    "2",
  ];
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const files = ["-keyout", made.key, "-out", made.certificate];
  execFileSync("openssl", ["req", "-x509", ...kind, ...about, ...files], { stdio: "pipe" });
  return made;
}
