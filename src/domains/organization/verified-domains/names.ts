import { domainToASCII } from "node:url";
import { badFields } from "#lib/refusal.ts";
import { MAIL_SERVICES, PUBLIC_SUFFIXES } from "./public-domains.ts";

const PREFIX = "_fairlead-verification.";
const LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
/** A host name of two or more labels; the last begins with a letter, which excludes IP addresses. */
const HOST = new RegExp(`^(?:${LABEL}\\.)+(?=[a-z])${LABEL}$`);
const MAX_LENGTH = 253 - PREFIX.length;

/** Normalizes a domain for storage and comparison; refuses one that no group may claim. */
export function readDomain(given: string): string {
  const name = given.trim().replace(/\.$/, "");
  // `domainToASCII` would cut off or decode these characters.
  const domain = /[\s/?#:@[\]\\%]/.test(name) ? "" : domainToASCII(name).toLowerCase();
  if (!HOST.test(domain) || domain.length > MAX_LENGTH) throw badFields({ domain: ["is not a domain name"] });
  if (PUBLIC_SUFFIXES.has(domain) || isMailService(domain)) {
    throw badFields({ domain: ["is open to everyone and cannot be claimed"] });
  }
  return domain;
}

const isMailService = (domain: string) => {
  const labels = domain.split(".");
  return labels.some((_, from) => MAIL_SERVICES.has(labels.slice(from).join(".")));
};

/** The DNS record that proves control of a domain. */
export const recordOf = ({ domain, verification_code }: { domain: string; verification_code: string }) => ({
  type: "TXT" as const,
  name: PREFIX + domain,
  value: `fairlead-domain-verification=${verification_code}`,
});
