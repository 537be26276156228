import ssh2, { type AuthContext, type PublicKeyAuthContext } from "ssh2";
import { principalName } from "#access/principal.ts";
import { readSshKey } from "#lib/ssh-keys.ts";
import { isSignedByToken, isTokenKind } from "#lib/ssh-signatures.ts";
import type { SignInRefusal } from "#lib/refusal.ts";
import type { Services } from "#services.ts";
import { authenticateKey } from "./key-holder.ts";

/** Attempts after which a connection is ended. */
const MAX_ATTEMPTS = 6;
const METHODS = ["publickey" as const];

const refusedKey = (reason: string): SignInRefusal => ({ kind: "ssh_key", reason });

interface Events {
  /** Called for each key that the client proved to hold. */
  onProven(fingerprint: string, principal: string): void;
  /** Ends the connection. */
  end(): void;
}

/** Authenticates the client of a connection by a key, and counts the attempts it refused. */
export function authentication(services: Services, { onProven, end }: Events) {
  let refused = 0;
  let last: SignInRefusal | undefined;

  function refuse(context: AuthContext, refusal: SignInRefusal) {
    refused++;
    last = refusal;
    return refused < MAX_ATTEMPTS ? context.reject(METHODS) : end();
  }

  async function decide(context: AuthContext) {
    // Clients send `none` only to learn which methods there are.
    if (context.method === "none") return context.reject(METHODS);
    if (context.method !== "publickey") return refuse(context, refusedKey("not a key"));
    const key = keyOf(context);
    // Until its signature is verified a key is only an offer, which anybody can make with a public key.
    const proven = context.signature !== undefined;
    if (!key) return refuse(context, refusedKey("not a key that can be used here"));
    if (proven && !isSigned(context, key)) return refuse(context, refusedKey("wrong signature"));
    const authentication = await authenticateKey(services, key.fingerprintSha256);
    if ("problem" in authentication) {
      return refuse(context, { kind: authentication.kind, reason: authentication.problem });
    }
    if (proven) onProven(key.fingerprintSha256, principalName(authentication.holder.principal));
    return context.accept();
  }

  return {
    refused: () => refused,
    /** Why the last attempt was refused. */
    lastRefusal: () => last,
    onAuthentication(context: AuthContext) {
      decide(context).catch((error: unknown) => {
        services.log.warn({ err: error }, "could not look up an SSH key");
        end();
      });
    },
  };
}

type OfferedKey = { readonly kind: string; readonly line: string; readonly fingerprintSha256: string };

/** Parses the key that a client offers; undefined if it is malformed, mislabelled, or would sign with SHA-1. */
function keyOf({ key: { algo, data }, hashAlgo }: PublicKeyAuthContext): OfferedKey | undefined {
  if (algo === "ssh-rsa" && hashAlgo === undefined) return undefined;
  const line = `${algo} ${data.toString("base64")}`;
  const reading = readSshKey(line);
  return "key" in reading ? { kind: algo, line, fingerprintSha256: reading.key.fingerprintSha256 } : undefined;
}

function isSigned({ key, blob, signature, hashAlgo }: PublicKeyAuthContext, { kind, line }: OfferedKey): boolean {
  if (!blob || !signature) return false;
  if (isTokenKind(kind)) return isSignedByToken(kind, key.data, blob, signature);
  const parsed = ssh2.utils.parseKey(line);
  // It may return an error instead of false.
  return !(parsed instanceof Error) && (parsed.verify(blob, signature, hashAlgo) as unknown) === true;
}
