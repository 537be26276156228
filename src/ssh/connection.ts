import type { Socket } from "node:net";
import type { Connection, ServerChannel, Session } from "ssh2";
import { protocolOf } from "#git/protocol.ts";
import type { Services } from "#services.ts";
import type { Admitted } from "./admission.ts";
import { authentication } from "./authentication.ts";
import { limitPackets } from "./packet-limits.ts";
import { type Asked, serveSession, type Wire } from "./session.ts";
import { type SessionRates, watchSession } from "./session-timeouts.ts";
import { wireOf } from "./wire.ts";

const USER = "git";
const LOGIN_GRACE = 30_000;
const MOST_SESSIONS = 10;
/** A connection that is kept for the next session waits no longer for it. */
const IDLE = 10 * 60_000;
/** Four windows: a client that sends on past what it was allowed is not one of ssh's. */
const MOST_UNREAD = 8 * 1024 * 1024;
/** How long a connection that is ended may take to receive what it was sent before. */
const LINGER_MS = 5_000;

/** One connection, from its first byte; ssh2 joins when the client has named itself. */
export function openConnection(
  services: Services,
  socket: Socket,
  admitted: Admitted,
  passed: (bytes: number) => void,
  rates: SessionRates,
) {
  const gone = new AbortController();
  const channels = new Set<ServerChannel>();
  let sessions = 0;
  let running = 0;
  let fingerprint: string | undefined;
  let principal = "";
  let user = "";
  let stopping = false;
  let timer = setTimeout(() => socket.destroy(), LOGIN_GRACE);

  const end = () => {
    clearTimeout(timer);
    gone.abort();
    if (socket.destroyed) return;
    socket.destroySoon();
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  };
  const endWhenIdle = () => {
    stopping = true;
    if (running === 0) end();
  };
  const auth = authentication(services, {
    proven(of, whose) {
      fingerprint = of;
      principal = whose;
    },
    end,
  });

  socket.setNoDelay(true);
  socket.once("close", () => {
    end();
    // Whoever only looks whether the port is open says nothing and costs nothing.
    admitted.ended(socket.bytesRead === 0 ? 0 : Math.max(auth.refused(), 1));
  });
  socket.on("data", (chunk: Buffer) => {
    passed(chunk.length);
    for (const channel of channels) if (channel.readableLength > MOST_UNREAD) socket.destroy();
  });

  const restUntilNext = () => {
    clearTimeout(timer);
    if (stopping) end();
    else if (!gone.signal.aborted) timer = setTimeout(end, IDLE);
  };

  function join(client: Connection) {
    limitPackets(client, socket, end);
    // Whatever a client does wrong ends its connection, and that is all there is to say.
    client.on("error", end).on("end", end);
    client.on("authentication", (context) => {
      user = context.username;
      auth.onAuthentication(context);
    });
    client.on("ready", () => {
      if (admitted.proven(principal)) restUntilNext();
      else end();
    });
    client.on("session", (accept, reject) => {
      if (gone.signal.aborted || sessions >= MOST_SESSIONS) reject();
      else openSession(accept());
    });
  }

  function openSession(session: Session) {
    let protocol: string | undefined;
    let begun = false;
    const closed = new AbortController();
    sessions++;
    session.on("close", () => {
      sessions--;
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
      if (!channel || fingerprint === undefined) return;
      channels.add(channel);
      closed.signal.addEventListener("abort", () => channels.delete(channel));
      const asked = { fingerprint, command, protocol: protocolOf(protocol), address: socket.remoteAddress };
      void serve(channel, asked, AbortSignal.any([gone.signal, closed.signal]));
    };
    session.on("shell", begin(undefined));
    session.on("exec", (accept, reject, { command }) => begin(command)(accept, reject));
  }

  async function serve(channel: ServerChannel, asked: Asked, signal: AbortSignal) {
    running++;
    clearTimeout(timer);
    const wire = wireOf(channel, socket, passed);
    const tooSlow = new AbortController();
    const either = AbortSignal.any([signal, tooSlow.signal]);
    either.addEventListener("abort", () => {
      wire.input.destroy();
      wire.output.destroy();
    });
    const endSlow = () => {
      wire.tell("ERROR: The session was idle for too long");
      tooSlow.abort();
      endWhenIdle();
    };
    const stopWatching = watchSession(wire, asked.command, endSlow, rates);
    const status = user === USER ? await serveSession(services, asked, wire, either) : refuseName(wire);
    wire.output.end(() => {
      stopWatching();
      channel.exit(status);
      channel.end();
      // What the client does not take would keep the channel open.
      if (tooSlow.signal.aborted) channel.close();
    });
    running--;
    if (running === 0) restUntilNext();
  }

  return {
    join,
    end,
    endWhenIdle,
  };
}

/** Left out where the client wants no reply. */
type Reply = (() => void) | undefined;

function refuseName(wire: Wire): number {
  wire.tell(`ERROR: Sign in as ${USER}, as in ${USER}@host; your key says who you are`);
  return 1;
}
