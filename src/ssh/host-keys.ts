import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import ssh2 from "ssh2";
import { readSshKey } from "#lib/ssh-keys.ts";
import { writeOnce } from "#lib/write-once.ts";

/** A key by which the server proves its identity. */
export interface HostKey {
  readonly kind: string;
  readonly privateKey: string;
  readonly fingerprint: string;
}

const KINDS = [
  { name: "ed25519", bits: 256 },
  { name: "rsa", bits: 3072 },
] as const;
type Kind = (typeof KINDS)[number];

export const hostKeyDirectory = (dataDir: string) => join(dataDir, "ssh_host_keys");
export const hostKeyFiles = (dataDir: string) =>
  KINDS.map(({ name }) => join(hostKeyDirectory(dataDir), `ssh_host_${name}_key`));

/** The host keys of a data directory, created at the first start and never replaced: clients remember them. */
export async function ensureHostKeys(dataDir: string): Promise<HostKey[]> {
  await mkdir(hostKeyDirectory(dataDir), { recursive: true, mode: 0o700 });
  const files = hostKeyFiles(dataDir);
  return Promise.all(KINDS.map((kind, index) => ensureHostKey(kind, files[index] as string)));
}

async function ensureHostKey(kind: Kind, file: string): Promise<HostKey> {
  try {
    return await readHostKey(file);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
  await writeOnce(file, await generateHostKey(kind));
  return readHostKey(file);
}

async function readHostKey(file: string): Promise<HostKey> {
  const privateKey = await readFile(file, "utf8");
  const key = ssh2.utils.parseKey(privateKey);
  if (key instanceof Error || !key.isPrivateKey()) throw new Error(`${file} is no host key; restore it from a backup`);
  const reading = readSshKey(`${key.type} ${key.getPublicSSH().toString("base64")}`);
  if ("problem" in reading) throw new Error(`${file} holds a key that ${reading.problem}; restore it from a backup`);
  return { kind: key.type, privateKey, fingerprint: reading.key.fingerprintSha256 };
}

const generate = promisify(ssh2.utils.generateKeyPair as GenerateKeyPair);
type GenerateKeyPair = (
  kind: string,
  options: { bits: number; comment: string },
  done: (error: Error | null, pair: { private: string; public: string }) => void,
) => void;

/** ssh2 encodes about one in three hundred Ed25519 keys wrongly, so a key is used only once it has signed. */
async function generateHostKey({ name, bits }: Kind): Promise<string> {
  for (let tries = 0; tries < 10; tries++) {
    const pair = await generate(name, { bits, comment: "fairlead" });
    if (signs(pair)) return pair.private;
  }
  throw new Error(`could not generate an SSH host key of type ${name}`);
}

function signs(pair: { private: string; public: string }): boolean {
  const [privateKey, publicKey] = [ssh2.utils.parseKey(pair.private), ssh2.utils.parseKey(pair.public)];
  if (privateKey instanceof Error || publicKey instanceof Error) return false;
  const text = Buffer.from("proof");
  const signature: unknown = privateKey.sign(text);
  return Buffer.isBuffer(signature) && (publicKey.verify(text, signature) as unknown) === true;
}
