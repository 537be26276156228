import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { until } from "./until.ts";

/** A mail as it arrived. */
export interface Received {
  readonly from: string;
  readonly to: readonly string[];
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  readonly html: string;
  readonly raw: string;
}

export interface SmtpServer {
  readonly url: string;
  readonly port: number;
  /** The mails accepted so far. */
  readonly received: Received[];
  /** Waits until this many mails to an address were accepted. */
  mailsTo(address: string, count?: number): Promise<Received[]>;
  close(): Promise<void>;
}

/** A real mail server on loopback that stores what it receives, by default without TLS and passwords. */
export async function startSmtp(options: SMTPServerOptions = {}, port = 0): Promise<SmtpServer> {
  const received: Received[] = [];
  const server = new SMTPServer({
    disabledCommands: ["AUTH", "STARTTLS"],
    closeTimeout: 100,
    async onData(stream, { envelope }, done) {
      const raw = await text(stream).catch(() => undefined);
      if (raw === undefined) return done(new Error("broken off"));
      const from = envelope.mailFrom ? envelope.mailFrom.address : "";
      received.push({ from, to: envelope.rcptTo.map(({ address }) => address), ...partsOf(raw), raw });
      done();
    },
    ...options,
  });
  // A client may break the connection.
  server.on("error", () => {});
  await once(server.listen(port, "127.0.0.1"), "listening");
  const { port: taken } = server.server.address() as AddressInfo;
  const to = (address: string) => received.filter((mail) => mail.to.includes(address));
  return {
    url: `smtp://127.0.0.1:${taken}`,
    port: taken,
    received,
    mailsTo: (address, count = 1) =>
      until(`${count} mails to ${address}`, async () => to(address).length >= count && to(address)),
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

/** An error that the server answers with. */
export const answer = (responseCode: number, message: string) => Object.assign(new Error(message), { responseCode });

/** The secret of the link in a mail. */
export function secretIn({ text }: Received): string {
  const [, secret] = /\?token=([\w-]+)/.exec(text) ?? [];
  if (secret === undefined) throw new Error(`There is no link in: ${text}`);
  return secret;
}

function partsOf(raw: string): Pick<Received, "headers" | "text" | "html"> {
  const { headers, body } = headOf(raw);
  const boundary = /boundary="?([^";]+)/.exec(headers.get("content-type") ?? "")?.[1] ?? "";
  const parts = body.split(`--${boundary}`).slice(1, -1).map(headOf);
  const ofType = (type: string) => {
    const part = parts.find(({ headers }) => headers.get("content-type")?.startsWith(type));
    return part ? decoded(part.body, part.headers.get("content-transfer-encoding") ?? "7bit") : "";
  };
  return { headers, text: ofType("text/plain"), html: ofType("text/html") };
}

function headOf(raw: string) {
  const [head = "", ...rest] = raw.trimStart().split("\r\n\r\n");
  const lines = head.replaceAll(/\r\n[ \t]+/g, " ").split("\r\n");
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { headers: new Map(headers), body: rest.join("\r\n\r\n") };
}

function decoded(body: string, encoding: string): string {
  if (encoding === "base64") return Buffer.from(body, "base64").toString();
  if (encoding !== "quoted-printable") return body;
  const bytes = body
    .replaceAll(/=\r\n/g, "")
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString();
}
