import { spawn } from "node:child_process";
import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const RUN_TIMEOUT_MS = 600_000;

export interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

/** A key of a user: its private file and its public line. */
export interface ClientKey {
  readonly file: string;
  readonly line: string;
}

export type SshTools = Awaited<ReturnType<typeof sshTools>>;

/** The real client, without the settings and keys of the machine. */
export async function sshTools() {
  const directory = await mkdtemp(join(tmpdir(), "fairlead-ssh-"));
  const agents: Server[] = [];
  let made = 0;

  const common = [
    "-F/dev/null",
    "-oBatchMode=yes",
    "-oStrictHostKeyChecking=no",
    `-oUserKnownHostsFile=${join(directory, "known_hosts")}`,
    "-oGlobalKnownHostsFile=/dev/null",
    "-oLogLevel=ERROR",
    "-oConnectTimeout=60",
  ];
  const withKey = (key: ClientKey) => [...common, `-i${key.file}`, "-oIdentitiesOnly=yes", "-oIdentityAgent=none"];
  const withAgent = (agent: string) => [...common, `-oIdentityAgent=${agent}`, "-oIdentityFile=none"];

  return {
    directory,
    withKey,
    withAgent,
    async makeKey(kind: string, bits?: number): Promise<ClientKey> {
      const file = join(directory, `key-${made++}`);
      const args = ["-q", "-t", kind, "-N", "", "-C", "test", "-f", file, ...(bits ? ["-b", String(bits)] : [])];
      const { code, stderr } = await run("ssh-keygen", args, {});
      if (code !== 0) throw new Error(stderr);
      return { file, line: (await readFile(`${file}.pub`, "utf8")).trim() };
    },
    /** Runs `ssh` with these options as `git`, or another user, at a port of this machine. */
    ssh: (options: readonly string[], port: number, command: readonly string[] = [], input = "", user = "git") =>
      run("ssh", [...options, `-p${port}`, `${user}@127.0.0.1`, ...command], {}, input),
    /** The environment that makes git use `ssh` with these options. */
    gitEnv: (options: readonly string[]) => ({
      GIT_SSH_COMMAND: ["ssh", ...options].join(" "),
      GIT_SSH_VARIANT: "ssh",
    }),
    /** Starts an agent with these keys in this order, and returns its socket. */
    async agent(keys: readonly SoftwareKey[]): Promise<string> {
      const path = join(directory, `agent-${made++}`);
      const server = createServer((socket) => serveAgent(socket, keys));
      server.listen(path);
      await once(server, "listening");
      agents.push(server);
      return path;
    },
    async close() {
      for (const agent of agents) agent.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Runs a program to its end. */
export async function run(
  program: string,
  args: readonly string[],
  env: Record<string, string>,
  input = "",
): Promise<Ended> {
  const child = spawn(program, args, {
    env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin", HOME: "/nonexistent", LANG: "C", ...env },
    stdio: "pipe",
    timeout: RUN_TIMEOUT_MS,
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const [code] = (await once(child, "close")) as [number | null];
  return { stdout, stderr, code };
}

/** A key in the agent of a test. */
export interface SoftwareKey {
  readonly blob: Buffer;
  readonly line: string;
  /** A whole signature in wire format, or undefined if it cannot sign. */
  sign(data: Buffer): Buffer | undefined;
}

export const field = (bytes: Buffer | string): Buffer => {
  const content = Buffer.from(bytes);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  return Buffer.concat([length, content]);
};

const sha256 = (bytes: Buffer | string) => createHash("sha256").update(bytes).digest();

/** A key without a security token. */
export function softwareKey(): SoftwareKey {
  const name = "ssh-ed25519";
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const blob = Buffer.concat([field(name), ...publicFields(publicKey)]);
  return {
    blob,
    line: `${name} ${blob.toString("base64")} software`,
    sign: (data) => Buffer.concat([field(name), field(sign(null, data, privateKey))]),
  };
}

/** An emulated security token; with `touched: false` nobody touched it. */
export function softwareToken(
  kind: "ed25519" | "ecdsa",
  { touched = true, application = "ssh:" }: { touched?: boolean; application?: string } = {},
) {
  const isEd25519 = kind === "ed25519";
  const name = isEd25519 ? ("sk-ssh-ed25519@openssh.com" as const) : ("sk-ecdsa-sha2-nistp256@openssh.com" as const);
  const { publicKey, privateKey } = isEd25519
    ? generateKeyPairSync("ed25519")
    : generateKeyPairSync("ec", { namedCurve: "P-256" });
  const blob = Buffer.concat([field(name), ...publicFields(publicKey), field(application)]);
  let counter = 0;
  return {
    kind: name,
    blob,
    line: `${name} ${blob.toString("base64")} token`,
    sign(data: Buffer): Buffer {
      const flagsAndCounter = Buffer.alloc(5);
      flagsAndCounter[0] = touched ? 1 : 0;
      flagsAndCounter.writeUInt32BE(++counter, 1);
      const signed = Buffer.concat([sha256(application), flagsAndCounter, sha256(data)]);
      const made = isEd25519 ? sign(null, signed, privateKey) : twoNumbers(signed, privateKey);
      return Buffer.concat([field(name), field(made), flagsAndCounter]);
    },
  };
}

function publicFields(key: KeyObject): Buffer[] {
  const { x = "", y = "" } = key.export({ format: "jwk" });
  if (y === "") return [field(Buffer.from(x, "base64url"))];
  const point = Buffer.concat([Buffer.from([4]), Buffer.from(x, "base64url"), Buffer.from(y, "base64url")]);
  return [field("nistp256"), field(point)];
}

function twoNumbers(signed: Buffer, key: KeyObject): Buffer {
  const both = sign("sha256", signed, { key, dsaEncoding: "ieee-p1363" });
  return Buffer.concat([number(both.subarray(0, 32)), number(both.subarray(32))]);
}

/** A number in SSH's format: without leading zeros, except one if the first bit is set. */
function number(bytes: Buffer): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const bare = bytes.subarray(first);
  return field((bare[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), bare]) : bare);
}

const ASKS_FOR_KEYS = 11;
const ASKS_TO_SIGN = 13;

function serveAgent(socket: Socket, keys: readonly SoftwareKey[]) {
  let kept = Buffer.alloc(0);
  socket.on("error", () => {});
  socket.on("data", (chunk: Buffer) => {
    kept = Buffer.concat([kept, chunk]);
    while (kept.length >= 4 && kept.length >= 4 + kept.readUInt32BE(0)) {
      const message = kept.subarray(4, 4 + kept.readUInt32BE(0));
      kept = kept.subarray(4 + message.length);
      socket.write(field(answer(message, keys)));
    }
  });
}

const FAILURE = Buffer.from([5]);

function answer(message: Buffer, keys: readonly SoftwareKey[]): Buffer {
  if (message[0] === ASKS_FOR_KEYS) {
    const listed = keys.flatMap(({ blob }) => [field(blob), field("")]);
    return Buffer.concat([Buffer.from([12, 0, 0, 0, keys.length]), ...listed]);
  }
  if (message[0] !== ASKS_TO_SIGN) return FAILURE;
  const blob = message.subarray(5, 5 + message.readUInt32BE(1));
  const data = 5 + blob.length;
  const key = keys.find((known) => known.blob.equals(blob));
  const signature = key?.sign(message.subarray(data + 4, data + 4 + message.readUInt32BE(data)));
  return signature ? Buffer.concat([Buffer.from([14]), field(signature)]) : FAILURE;
}
