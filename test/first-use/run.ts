import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "#test/support/ports.ts";
import { appCode } from "#test/support/totp.ts";
import { choosePassword, newPerson, PASSWORD, type Person } from "./people.ts";
import { openTerminal, type Program, startProgram, type Terminal } from "./terminal.ts";

/**
 * Follows README.md word for word, from a clone to the pushes of the second person, and then the guide for those who
 * join. What a browser and a person add is done here; in the texts only addresses, the name of the third person and
 * what stands for a secret are replaced.
 */
const root = join(import.meta.dirname, "../..");

const work = mkdtempSync(join(tmpdir(), "fairlead-first-use-"));
// The trial server runs as another user where this runs as root.
chmodSync(work, 0o755);
const clone = join(work, "fairlead");
const [port, sshPort] = [await freePort(), await freePort()];
const inherited = Object.entries(process.env).filter(([name]) => !/^(FAIRLEAD_|GIT_)/.test(name));
const environment = {
  ...Object.fromEntries(inherited),
  ...{ FAIRLEAD_PORT: String(port), FAIRLEAD_SSH_PORT: String(sshPort) },
  ...{ npm_config_prefer_offline: "true", npm_config_audit: "false", npm_config_fund: "false" },
  // Its settings make curl fail where an answer is a refusal.
  CURL_HOME: work,
};

let passed = 0;
let failed = 0;
let server: Program | undefined;
const terminals: Terminal[] = [];
try {
  const { administrator, token, seeding } = await followReadme();
  await followGuide(administrator, token);
  await startSeeded(administrator, seeding);
} catch (error) {
  failed++;
  console.log(`✖ ${error instanceof Error ? error.message : String(error)}`);
} finally {
  for (const terminal of terminals) terminal.close();
  await server?.stop();
  rmSync(work, { recursive: true, force: true });
}
console.log(`first-use: ${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

async function followReadme() {
  writeFileSync(join(work, ".curlrc"), "silent\nshow-error\nfail-with-body\n");
  await step("git clone", () => execFileSync("git", ["clone", "--quiet", root, clone], { env: environment }));
  const blocks = blocksOf("README.md", /^## Start$[\s\S]*?(?=^## What works today$)/m, 7);
  const [starting = [], creating = [], inviting = [], signingIn = [], overHttp = [], overSsh = [], seeding = []] =
    blocks;

  const administrator = terminalIn(clone, environment);
  const token = await start(administrator, starting);
  await runAll(administrator, creating, { "flpat-…": token });
  const invited = await runAll(administrator, inviting);
  await step("Ada opens the link and chooses a password", () => choosePassword(linkIn(invited)));

  const ada = newPerson(join(work, "ada"), "Ada");
  const terminal = terminalIn(ada.home, { ...environment, ...ada.environment });
  ada.useToken(tokenIn(await runAll(terminal, signingIn, {}, () => PASSWORD)));
  await runAll(terminal, overHttp);
  await step("what Ada pushed over HTTP is there", () => isPushed(terminal, 2));
  await step("ssh-keygen -t ed25519", () => makeKey(terminal));
  await runAll(terminal, overSsh, { "flpat-…": ada.token() });
  await step("what Ada pushed over SSH is there", () => isPushed(terminal, 3));
  return { administrator, token, seeding };
}

/** Runs the commands up to the one that starts the server, and the others in another terminal, as README.md says. */
async function start(administrator: Terminal, commands: readonly string[]): Promise<string> {
  const at = commands.indexOf("npm start");
  assert.notEqual(at, -1, "README.md does not say: npm start");
  await runAll(administrator, commands.slice(0, at));
  const token = await step("npm start", async () => {
    server = startProgram("npm start", clone, environment);
    const [, printed = ""] = await server.says(/^Token \(shown only now\): (\S+)$/m);
    await server.says(/Fairlead is at /);
    return printed;
  });
  await runAll(administrator, commands.slice(at + 1));
  return token;
}

/** README.md ends with another installation, for which the first one leaves the port. */
async function startSeeded(administrator: Terminal, commands: readonly string[]) {
  assert.equal(commands.at(-1), "npm start");
  await runAll(administrator, commands.slice(0, -1));
  await server?.stop();
  const directory = await administrator.run("echo $FAIRLEAD_DATA_DIR");
  await step("npm start", async () => {
    server = startProgram("npm start", clone, { ...environment, FAIRLEAD_DATA_DIR: directory.trim() });
    await server.says(/Fairlead is at /);
  });
}

/** Somebody is invited over the API and follows the guide in one terminal from top to bottom. */
async function followGuide(administrator: Terminal, rootToken: string) {
  const blocks = blocksOf("docs/guides/joining.md", /[\s\S]+/, 5);
  const [signingIn = [], endingSession = [], secondFactor = [], keys = [], pushing = []] = blocks;
  const invited = await step("the administrator invites Bea over the API", async () => {
    const post = (fields: string, path: string) => administrator.run(`curl -H "$AUTH" ${fields} $API${path}`);
    const made = await post(
      "-d username=bea -d name=Bea -d email=bea@example.com -d force_random_password=true",
      "/users",
    );
    await post("-d username=bea -d access_level=30", "/projects/fleet%2Fflagship/members");
    return post("-X POST", `/users/${(JSON.parse(made) as { id: number }).id}/invitation`);
  });
  await step("Bea opens the link and chooses a password", () => choosePassword(linkIn(invited)));

  const bea: Person = newPerson(join(work, "bea"), "Bea");
  const terminal = terminalIn(bea.home, { ...environment, ...bea.environment });
  const names = { "login=ada": "login=bea" };
  bea.useToken(tokenIn(await runAll(terminal, signingIn, names, () => PASSWORD)));
  assert.notEqual(bea.token(), rootToken);
  await runAll(terminal, endingSession, { "flpat-…": bea.token() });
  const codes = await runAll(terminal, secondFactor, {}, (said) => appCode(/"secret":"(\w+)"/.exec(said)?.[1] ?? ""));
  assert.match(codes, /"recovery_codes":\["/);
  await step("ssh-keygen -t ed25519", () => makeKey(terminal));
  await runAll(terminal, keys);
  await runAll(terminal, pushing);
  await step("what Bea pushed is there", () => isPushed(terminal, 4));
}

/** Runs commands one after another and gives all that they said; `typed` is asked what a person types next. */
async function runAll(
  terminal: Terminal,
  commands: readonly string[],
  filledIn: Readonly<Record<string, string>> = {},
  typed?: (said: string) => string,
): Promise<string> {
  const replaced = Object.entries({ ...addresses(), ...filledIn });
  let said = "";
  for (const command of commands) {
    const filled = replaced.reduce((text, [old, now]) => text.replaceAll(old, now), command);
    assert.doesNotMatch(filled, /…/, `nothing is known to stand for the dots in: ${command}`);
    const waits = /^read\b/.test(command);
    said += await step(command, () => terminal.run(filled, waits ? typed?.(said) : undefined));
  }
  return said;
}

function addresses() {
  return {
    "127.0.0.1:8080": `127.0.0.1:${port}`,
    "127.0.0.1:2222": `127.0.0.1:${sshPort}`,
    "https://code.example.com": `http://127.0.0.1:${port}`,
    "code.example.com:2222": `127.0.0.1:${sshPort}`,
  };
}

async function step<T>(what: string, act: () => T | Promise<T>): Promise<T> {
  const began = performance.now();
  try {
    const result = await act();
    passed++;
    console.log(`✔ ${((performance.now() - began) / 1000).toFixed(1).padStart(5)} s  ${what.replaceAll(/\s+/g, " ")}`);
    return result;
  } catch (error) {
    throw new Error(`${what}\n${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

/** The commands of each block of shell in a part of a page; one goes on in the next line after a backslash or a pipe. */
function blocksOf(file: string, part: RegExp, count: number): string[][] {
  const [text = ""] = part.exec(readFileSync(join(clone, file), "utf8")) ?? [];
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = ""]) =>
    block
      .split(/(?<![\\|])\n/)
      .map((command) => command.trim())
      .filter((command) => command !== ""),
  );
  assert.equal(blocks.length, count, `${file} has other blocks than this knows: say here who runs each of them`);
  return blocks;
}

function terminalIn(directory: string, env: NodeJS.ProcessEnv): Terminal {
  const terminal = openTerminal(directory, env);
  terminals.push(terminal);
  return terminal;
}

function linkIn(said: string): string {
  const [link = ""] = /http:[^\s"]+\?token=[\w-]+/.exec(said) ?? [];
  assert.ok(link.startsWith(`http://127.0.0.1:${port}/`), `no link in: ${said}`);
  return link;
}

function tokenIn(said: string): string {
  const [token] = /flpat-[\w-]+/.exec(said) ?? [];
  assert.ok(token, `no token in: ${said}`);
  return token;
}

/** The two questions of ssh-keygen, where to and with which passphrase, are answered by its options. */
function makeKey(terminal: Terminal): Promise<string> {
  return terminal.run('ssh-keygen -q -t ed25519 -f $HOME/.ssh/id_ed25519 -N ""');
}

/** Whether the server has the commit that the person has, and as many as were made. */
async function isPushed(terminal: Terminal, count: number) {
  const said = await terminal.run("git rev-parse HEAD; git ls-remote origin HEAD; git rev-list --count HEAD");
  const [own, theirs = "", commits] = said.split("\n");
  assert.equal(theirs.slice(0, 40), own);
  assert.equal(Number(commits), count);
}
