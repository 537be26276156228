import type { Socket } from "node:net";
import type { Connection, ServerChannel } from "ssh2";
import { addressIn } from "#lib/networks.ts";
import type { SignInRefusal } from "#lib/refusal.ts";
import type { Services } from "#services.ts";
import type { Admitted } from "./admission.ts";
import { authentication } from "./authentication.ts";
import { type OpenConnection, serveChannels } from "./channels.ts";
import { limitPackets } from "./packet-limits.ts";
import type { SessionRates } from "./session-timeouts.ts";

const LOGIN_TIMEOUT_MS = 30_000;
const MAX_SESSIONS = 10;
/** How long a connection without a session is kept for the next one. */
const IDLE_TIMEOUT_MS = 10 * 60_000;
/** Four windows: a client that exceeds its window does not follow the protocol. */
const MAX_UNREAD_BYTES = 8 * 1024 * 1024;
/** How long a closing connection may take to deliver what was sent. */
const LINGER_MS = 5_000;

/** Serves a connection from its first byte; ssh2 joins once the client has identified itself. */
export function openConnection(
  services: Services,
  socket: Socket,
  admitted: Admitted,
  countBytes: (bytes: number) => void,
  rates: SessionRates,
) {
  // A closed socket no longer has an address.
  const address = addressIn(socket.remoteAddress ?? "");
  const lifecycle = lifecycleOf(socket);
  const { end, endWhenIdle } = lifecycle;
  const channels = new Set<ServerChannel>();
  const login: OpenConnection["login"] = { user: "", fingerprint: undefined, principal: "" };
  const connection: OpenConnection = { services, socket, address, rates, lifecycle, channels, login, countBytes };
  const meter = meterConnection(services, address);
  const auth = authentication(services, {
    onProven: (fingerprint, principal) => Object.assign(login, { fingerprint, principal }),
    end,
  });

  socket.setNoDelay(true);
  socket.once("close", () => {
    end();
    meter.closed(auth.lastRefusal(), auth.refused());
    // A client that only checks whether the port is open sends nothing and is not counted.
    admitted.closed(socket.bytesRead === 0 ? 0 : Math.max(auth.refused(), 1));
  });
  socket.on("data", (chunk: Buffer) => {
    countBytes(chunk.length);
    for (const channel of channels) if (channel.readableLength > MAX_UNREAD_BYTES) socket.destroy();
  });

  function join(client: Connection) {
    let sessions = 0;
    limitPackets(client, socket, end);
    // A protocol error ends the connection; there is nothing to log.
    client.on("error", end).on("end", end);
    client.on("authentication", (context) => {
      login.user = context.username;
      auth.onAuthentication(context);
    });
    client.on("ready", () => {
      meter.authenticated();
      if (admitted.authenticated(login.principal)) return lifecycle.waitForNextSession();
      services.reportRefusedSignIn({ kind: "ssh_key", reason: "too many connections", ip: address });
      end();
    });
    client.on("session", (accept, reject) => {
      if (lifecycle.signal.aborted || sessions >= MAX_SESSIONS) return reject();
      const session = accept();
      sessions++;
      session.on("close", () => sessions--);
      serveChannels(connection, session);
    });
  }

  return { join, end, endWhenIdle };
}

/** Counts a connection in the metrics, and reports a refused sign-in when it closes. */
function meterConnection(services: Services, address: string | undefined) {
  const { ssh } = services.metrics;
  let state: "unauthenticated" | "authenticated" = "unauthenticated";
  ssh.connections.inc({ state });
  return {
    authenticated() {
      ssh.authentications.inc({ outcome: "accepted" });
      ssh.connections.dec({ state });
      state = "authenticated";
      ssh.connections.inc({ state });
    },
    closed(refusal: SignInRefusal | undefined, attempts: number) {
      ssh.connections.dec({ state });
      // Clients offer all their keys, so only a connection that none of them authenticated is a refused sign-in.
      if (!refusal || state === "authenticated") return;
      ssh.authentications.inc({ outcome: "refused" });
      services.reportRefusedSignIn({ ...refusal, ip: address, attempts });
    },
  };
}

/** Ends a connection that takes too long to log in, that is idle for too long, or that the server asks to end. */
function lifecycleOf(socket: Socket) {
  const gone = new AbortController();
  let running = 0;
  let stopping = false;
  let timer = setTimeout(() => socket.destroy(), LOGIN_TIMEOUT_MS);

  const end = () => {
    clearTimeout(timer);
    gone.abort();
    if (socket.destroyed) return;
    socket.destroySoon();
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  };
  const waitForNextSession = () => {
    clearTimeout(timer);
    if (stopping) end();
    else if (!gone.signal.aborted) timer = setTimeout(end, IDLE_TIMEOUT_MS);
  };
  return {
    signal: gone.signal,
    end,
    endWhenIdle() {
      stopping = true;
      if (running === 0) end();
    },
    waitForNextSession,
    commandStarted() {
      running++;
      clearTimeout(timer);
    },
    commandEnded() {
      running--;
      if (running === 0) waitForNextSession();
    },
  };
}
