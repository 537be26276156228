import type { Socket } from "node:net";
import type { ServerChannel, Session } from "ssh2";
import { protocolOf } from "#git/protocol.ts";
import type { Services } from "#services.ts";
import { type SessionRequest, serveSession, type Wire } from "./session.ts";
import { type SessionRates, watchSession } from "./session-timeouts.ts";
import { wireOf } from "./wire.ts";

const USER = "git";

/** What sessions need of their connection. */
export interface OpenConnection {
  readonly services: Services;
  readonly socket: Socket;
  readonly address: string | undefined;
  readonly rates: SessionRates;
  /** The channels of running commands. */
  readonly channels: Set<ServerChannel>;
  /** The name that the client signed in with, and the key that it proved to hold. */
  readonly login: { user: string; fingerprint: string | undefined; principal: string };
  readonly lifecycle: {
    /** Aborts when the connection ends. */
    readonly signal: AbortSignal;
    commandStarted(): void;
    commandEnded(): void;
    /** Ends the connection now or when its last command ends. */
    endWhenIdle(): void;
  };
  countBytes(bytes: number): void;
}

/** Undefined if the client wants no reply. */
type Reply = (() => void) | undefined;

/** Serves the one command, or the shell, that a client may request in a session. */
export function serveChannels(connection: OpenConnection, session: Session) {
  const { services, channels, login, address, lifecycle } = connection;
  let protocol: string | undefined;
  let begun = false;
  const closed = new AbortController();
  services.metrics.ssh.sessions.inc();
  session.on("close", () => {
    services.metrics.ssh.sessions.dec();
    closed.abort();
  });
  session.on("env", (accept: Reply, reject: Reply, { key, val }) => {
    if (begun || key !== "GIT_PROTOCOL" || protocolOf(val) === undefined) return reject?.();
    protocol = val;
    accept?.();
  });
  const begin = (command: string | undefined) => (accept: () => ServerChannel, reject: Reply) => {
    if (begun) return reject?.();
    begun = true;
    const channel: ServerChannel | undefined = accept();
    const { fingerprint } = login;
    if (!channel || fingerprint === undefined) return;
    channels.add(channel);
    closed.signal.addEventListener("abort", () => channels.delete(channel));
    const request = { fingerprint, command, protocol: protocolOf(protocol), address };
    void serve(connection, channel, request, AbortSignal.any([lifecycle.signal, closed.signal]));
  };
  session.on("shell", begin(undefined));
  session.on("exec", (accept, reject, { command }) => begin(command)(accept, reject));
}

async function serve(connection: OpenConnection, channel: ServerChannel, request: SessionRequest, signal: AbortSignal) {
  const { services, socket, address, lifecycle, login, rates, countBytes } = connection;
  lifecycle.commandStarted();
  const wire = wireOf(channel, socket, countBytes);
  const tooSlow = new AbortController();
  const either = AbortSignal.any([signal, tooSlow.signal]);
  either.addEventListener("abort", () => {
    wire.input.destroy();
    wire.output.destroy();
  });
  const endSlow = () => {
    wire.showLine("ERROR: The session was idle for too long");
    tooSlow.abort();
    lifecycle.endWhenIdle();
  };
  const stopWatching = watchSession(wire, request.command, endSlow, rates);
  const status =
    login.user === USER ? await serveSession(services, request, wire, either) : refuseName(services, wire, address);
  wire.output.end(() => {
    stopWatching();
    channel.exit(status);
    channel.end();
    // Unreceived output would keep the channel open.
    if (tooSlow.signal.aborted) channel.close();
  });
  lifecycle.commandEnded();
}

function refuseName(services: Services, wire: Wire, ip: string | undefined): number {
  services.reportRefusedSignIn({ kind: "ssh_key", reason: `the user name is not ${USER}`, ip });
  wire.showLine(`ERROR: Sign in as ${USER}, as in ${USER}@host; your key says who you are`);
  return 1;
}
