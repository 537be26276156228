import { domainToASCII } from "node:url";
import { badFields } from "#lib/refusal.ts";
import { MAIL_SERVICES, PUBLIC_SUFFIXES } from "./public-domains.ts";

const PREFIX = "_fairlead-verification.";
const LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
/** A host name of two labels or more; the last begins with a letter, which tells it from an address of numbers. */
const HOST = new RegExp(`^(?:${LABEL}\\.)+(?=[a-z])${LABEL}$`);
const MOST_CHARACTERS = 253 - PREFIX.length;

/** A domain in the one form that it is kept and compared in, if a group may claim it. */
export function readDomain(given: string): string {
  const name = given.trim().replace(/\.$/, "");
  // What is not part of a name would be cut off or decoded.
  const domain = /[\s/?#:@[\]\\%]/.test(name) ? "" : domainToASCII(name).toLowerCase();
  if (!HOST.test(domain) || domain.length > MOST_CHARACTERS) throw badFields({ domain: ["is not a domain name"] });
  if (PUBLIC_SUFFIXES.has(domain) || isMailService(domain)) {
    throw badFields({ domain: ["is open to everyone and cannot be claimed"] });
  }
  return domain;
}

const isMailService = (domain: string) => {
  const labels = domain.split(".");
  return labels.some((_, from) => MAIL_SERVICES.has(labels.slice(from).join(".")));
};

/** The record by which whoever has a domain proves it. */
export const recordOf = ({ domain, verification_code }: { domain: string; verification_code: string }) => ({
  type: "TXT" as const,
  name: PREFIX + domain,
  value: `fairlead-domain-verification=${verification_code}`,
});
