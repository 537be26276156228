import { randomUUID } from "node:crypto";
import { fsyncSync, openSync, writeSync } from "node:fs";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { SMTPServer } from "smtp-server";
import type { Line } from "./postbox.ts";

/** A mail server that says it took a mail only when that is on disk, and a moment later, as a distant one does. */
const DISTANCE = 20;

const [port = "", file = ""] = process.argv.slice(2);
const book = openSync(file, "a");

function note(line: Line) {
  writeSync(book, `${JSON.stringify(line)}\n`);
}

const server = new SMTPServer({
  disabledCommands: ["AUTH", "STARTTLS"],
  async onData(stream, { hostNameAppearsAs }, done) {
    // A worker that is killed breaks off in the middle.
    const mail = await text(stream).catch(() => undefined);
    if (mail === undefined) return done(new Error("broken off"));
    const [, id = ""] = /^Message-ID: <([^@>]+)/im.exec(mail) ?? [];
    const taking = randomUUID();
    note({ taking, id, worker: hostNameAppearsAs || "", server: String(process.pid), at: Date.now() });
    fsyncSync(book);
    await sleep(DISTANCE);
    done();
    note({ said: taking });
  },
});
server.on("error", () => {});
server.listen(Number(port), "127.0.0.1");
