import type { Signature } from "#git/objects/commits.ts";

/** An author or a committer. */
export type Person = Pick<Signature, "name" | "email">;

/** The signature of a person at a time, in UTC. */
export const signedAt = (person: Person, at: Date): Signature => ({
  ...person,
  at: Math.floor(at.getTime() / 1000),
  zone: 0,
});

const MAX_NAME_LENGTH = 255;

/**
 * Formats a signature for a commit or tag. Brackets and control characters would end the name or the line, and git drops
 * punctuation around a name.
 */
export function signatureLine({ name, email, at, zone }: Signature): string {
  const plainName = plain(name).replaceAll(/^[\s.,:;"'\\]+|[\s.,:;"'\\]+$/gu, "");
  const plainEmail = plain(email).replaceAll(/\s/gu, "");
  return `${plainName || plainEmail || "Unknown"} <${plainEmail}> ${at} ${zoneOf(zone)}`;
}

const plain = (text: string) =>
  [...text.replaceAll(/[\p{Cc}<>\u2028\u2029]/gu, "")].slice(0, MAX_NAME_LENGTH).join("").trim();

const digits = (number: number) => String(Math.floor(number)).padStart(2, "0");
const zoneOf = (zone: number) => `${zone < 0 ? "-" : "+"}${digits(Math.abs(zone) / 60)}${digits(Math.abs(zone) % 60)}`;
