import ssh2, { type AuthContext, type PublicKeyAuthContext } from "ssh2";
import { readSshKey } from "#lib/ssh-keys.ts";
import { isSignedByToken, isTokenKind } from "#lib/ssh-signatures.ts";
import type { Services } from "#services.ts";
import { comingWith, principalOf } from "./callers.ts";

/** Keys that one connection may show before it is ended. */
const MOST_TRIES = 6;
const METHODS = ["publickey" as const];

/** Lets in whoever proves to have a key that opens something; tells its fingerprint, and how many were refused. */
export function authentication(
  services: Services,
  told: { proven(fingerprint: string, principal: string): void; end(): void },
) {
  let refused = 0;

  async function decide(context: AuthContext) {
    if (context.method !== "publickey") {
      // Clients ask with `none` only to learn what there is.
      if (context.method !== "none") refused++;
      return refused < MOST_TRIES ? context.reject(METHODS) : told.end();
    }
    const key = keyOf(context);
    // Until its signature is verified a key is only an offer, which anybody can make of anybody's public key.
    const proven = context.signature !== undefined;
    if (key && (!proven || isSigned(context, key))) {
      const coming = await comingWith(services, key.fingerprintSha256);
      if ("comer" in coming) {
        if (proven) told.proven(key.fingerprintSha256, principalOf(coming.comer));
        return context.accept();
      }
    }
    refused++;
    return refused < MOST_TRIES ? context.reject(METHODS) : told.end();
  }

  return {
    refused: () => refused,
    onAuthentication(context: AuthContext) {
      decide(context).catch((error: unknown) => {
        services.log.warn({ err: error }, "could not look up an SSH key");
        told.end();
      });
    },
  };
}

type ShownKey = { readonly kind: string; readonly line: string; readonly fingerprintSha256: string };

/** The key that was shown, if it is well formed, of the kind that it is called, and not signed for with SHA-1. */
function keyOf({ key: { algo, data }, hashAlgo }: PublicKeyAuthContext): ShownKey | undefined {
  if (algo === "ssh-rsa" && hashAlgo === undefined) return undefined;
  const line = `${algo} ${data.toString("base64")}`;
  const reading = readSshKey(line);
  return "key" in reading ? { kind: algo, line, fingerprintSha256: reading.key.fingerprintSha256 } : undefined;
}

function isSigned({ key, blob, signature, hashAlgo }: PublicKeyAuthContext, { kind, line }: ShownKey): boolean {
  if (!blob || !signature) return false;
  if (isTokenKind(kind)) return isSignedByToken(kind, key.data, blob, signature);
  const parsed = ssh2.utils.parseKey(line);
  // It answers with an error, not only with false.
  return !(parsed instanceof Error) && (parsed.verify(blob, signature, hashAlgo) as unknown) === true;
}
