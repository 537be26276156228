import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Installation, type User, type Project, startInstallation } from "#test/git/installation.ts";
import { gitOutput } from "#test/support/git.ts";
import { HOSTILE, manyRefs } from "#test/support/hostile-repositories.ts";
import { AS_IN_PRODUCTION } from "#test/support/limits.ts";
import { type SmtpServer, startSmtp } from "#test/support/smtp.ts";
import { type ClientKey, type SshTools, sshTools } from "#test/support/ssh.ts";

const HONEST_FILES = 10;
const HONEST_FILE_BYTES = 1_000_000;
const LARGE_FILES = 12;
const LARGE_FILE_BYTES = 4_000_000;
/** The largest file that fits into JSON. */
const JSON_FILE_BYTES = 9_900_000;
const SMTP_DELAY_MS = 100;

/** Fewer refs, since git syncs each pushed ref on its own. */
const REPOSITORIES = { ...HOSTILE, "many refs": (directory: string) => manyRefs(directory, { branches: 1_000 }) };

export type HostileName = keyof typeof HOSTILE;
/** A repository that is expensive to read, and its first commit. */
export type HostileProject = Project & { readonly first: string };

/** An installation with a private repository of an honest user and public ones of an attacker. */
export interface Fixture {
  readonly installation: Installation;
  readonly directory: string;
  readonly tools: SshTools;
  readonly honest: User & { readonly key: ClientKey; readonly project: Project };
  readonly attacker: User & { readonly privateKey: string };
  readonly hostile: Readonly<Record<HostileName, HostileProject>>;
  /** A public repository whose clone exceeds all buffers. */
  readonly large: Project;
  /** A mail server that takes its time. */
  readonly smtp: SmtpServer;
  close(): Promise<void>;
}

export async function createFixture(progress: (text: string) => void, blocks: string): Promise<Fixture> {
  const directory = await mkdtemp(join(tmpdir(), "fairlead-exhaustion-"));
  const smtp = await startSmtp({ onMailFrom: (_from, _session, done) => void setTimeout(done, SMTP_DELAY_MS) });
  const installation = await startInstallation({
    ...AS_IN_PRODUCTION,
    ...instrumented(blocks),
    FAIRLEAD_SMTP_URL: smtp.url,
    FAIRLEAD_OUTBOUND_ALLOW: "127.0.0.0/8",
  });
  const tools = await sshTools();
  await installation.server().sshReady();
  const honest = await withKey(installation, tools, await installation.createUser("ada"));
  const attacker = await withKey(installation, tools, await installation.createUser("mallory"));
  const project = await createProject(installation, honest, "harbour", "private");
  await pushFiles(installation, honest, project, join(directory, "honest"), HONEST_FILES, HONEST_FILE_BYTES);
  const large = await createProject(installation, attacker, "large", "public");
  await pushFiles(installation, attacker, large, join(directory, "large"), LARGE_FILES, LARGE_FILE_BYTES);

  const hostile: Partial<Record<HostileName, HostileProject>> = {};
  for (const [name, make] of Object.entries(REPOSITORIES) as [HostileName, (directory: string) => Promise<void>][]) {
    const started = performance.now();
    const repository = join(directory, name.replaceAll(" ", "-"));
    await mkdir(repository);
    await make(repository);
    const first = await gitOutput(["rev-list", "--max-parents=0", "--max-count=1", "main"], { cwd: repository });
    hostile[name] = { first, ...(await createProject(installation, attacker, name, "public")) };
    await push(installation, attacker, hostile[name], repository);
    await rm(repository, { recursive: true, force: true });
    progress(`pushed ${name} in ${((performance.now() - started) / 1000).toFixed(1)} s`);
  }
  return {
    installation,
    directory,
    tools,
    honest: { ...honest, project },
    attacker,
    hostile: hostile as Record<HostileName, HostileProject>,
    large,
    smtp,
    async close() {
      await tools.close();
      await installation.close();
      await smtp.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Settings that make a server report blocks of its event loop and plant a defect. */
export const instrumented = (blocks: string, plant?: string): Record<string, string> => ({
  NODE_OPTIONS: `--import ${new URL("inside.ts", import.meta.url).href}`,
  EXHAUSTION_BLOCKS: blocks,
  EXHAUSTION_PLANT: plant ?? "",
});

async function withKey(installation: Installation, tools: SshTools, user: User) {
  const key = await tools.makeKey("ed25519");
  await installation.call("POST", "/user/keys", { token: user.token, body: { title: "test", key: key.line } });
  return { ...user, key, privateKey: await readFile(key.file, "utf8") };
}

async function createProject(
  installation: Installation,
  { token }: User,
  name: string,
  visibility: string,
): Promise<Project> {
  const created = await installation.call<{ id: number; path_with_namespace: string }>("POST", "/projects", {
    token,
    body: { name, visibility },
  });
  return { id: created.id, path: created.path_with_namespace };
}

/** Pushes a commit of incompressible files. */
async function pushFiles(
  installation: Installation,
  user: User,
  project: Project,
  directory: string,
  files: number,
  bytes: number,
) {
  await mkdir(directory);
  const options = { cwd: directory };
  await gitOutput(["init", "--quiet", "--initial-branch=main"], options);
  for (let n = 0; n < files; n++) await writeFile(join(directory, `file-${n}`), randomBytes(bytes));
  await writeFile(join(directory, "json"), randomBytes(JSON_FILE_BYTES));
  await gitOutput(["-c", "core.compression=0", "add", "."], options);
  await gitOutput(["commit", "--quiet", "--message=Begin"], options);
  await push(installation, user, project, directory);
  await rm(directory, { recursive: true, force: true });
}

async function push(installation: Installation, user: User, project: Project, directory: string) {
  const refs = ["refs/heads/*:refs/heads/*", "refs/tags/*:refs/tags/*"];
  await gitOutput(["push", "--quiet", installation.address(project, user), ...refs], { cwd: directory });
}
