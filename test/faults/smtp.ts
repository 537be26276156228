import { randomUUID } from "node:crypto";
import { fsyncSync, openSync, writeSync } from "node:fs";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { SMTPServer } from "smtp-server";
import type { Line } from "./mail-harness.ts";

/** A mail server that answers after the mail is on disk, with the delay of a distant one. */
const ANSWER_DELAY_MS = 20;

const [port = "", file = ""] = process.argv.slice(2);
const logFile = openSync(file, "a");

function note(line: Line) {
  writeSync(logFile, `${JSON.stringify(line)}\n`);
}

const server = new SMTPServer({
  disabledCommands: ["AUTH", "STARTTLS"],
  async onData(stream, { hostNameAppearsAs }, done) {
    // A killed worker breaks off in the middle.
    const mail = await text(stream).catch(() => undefined);
    if (mail === undefined) return done(new Error("broken off"));
    const [, id = ""] = /^Message-ID: <([^@>]+)/im.exec(mail) ?? [];
    const delivery = randomUUID();
    note({ delivery, id, worker: hostNameAppearsAs || "", server: String(process.pid), at: Date.now() });
    fsyncSync(logFile);
    await sleep(ANSWER_DELAY_MS);
    done();
    note({ answered: delivery });
  },
});
server.on("error", () => {});
server.listen(Number(port), "127.0.0.1");
