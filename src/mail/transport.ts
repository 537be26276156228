import type { Logger } from "pino";
import type { Config } from "#config.ts";
import { unprocessable } from "#lib/refusal.ts";
import { htmlOf, type Letter, oneLine, textOf } from "./letter.ts";

export interface Mailer {
  /** Over when the server has taken the letter. A refusal is for ever; after any other error it may be tried again. */
  send(letter: Letter): Promise<void>;
  close(): void;
}

type Settings = Pick<Config, "smtpUrl" | "mailFrom" | "jobConcurrency">;

export const openMailer = (config: Settings, log: Pick<Logger, "info">): Mailer =>
  config.smtpUrl === undefined ? mailToLog(log) : mailBySmtp(config.smtpUrl, config);

/** Says that there was a mail, and not what it said: that may be a link which only its receiver may see. */
const mailToLog = (log: Pick<Logger, "info">): Mailer => ({
  async send({ id, to, subject }) {
    log.info(
      { mail_id: id, to, subject: oneLine(subject) },
      "mail was not sent: no SMTP server is set; FAIRLEAD_SMTP_URL says which one to use",
    );
  },
  close() {},
});

/** A server that hangs holds up a worker for less than a minute. */
const TIMEOUTS = { dnsTimeout: 10_000, connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000 };

function mailBySmtp(url: string, { mailFrom, jobConcurrency }: Settings): Mailer {
  let loading: ReturnType<typeof open> | undefined;
  let closed = false;

  // Loaded at the first mail, since most processes send none.
  async function open() {
    const { createTransport } = await import("nodemailer");
    return createTransport({
      url,
      pool: true,
      maxConnections: Math.max(jobConcurrency.mail, 1),
      // What is tried again after a failure is the job's to say; this is for a connection that the server had closed.
      maxRequeues: 1,
      // A password is not sent in the open; `?requireTLS=false` behind the address lets it.
      requireTLS: new URL(url).password !== "",
      disableFileAccess: true,
      disableUrlAccess: true,
      ...TIMEOUTS,
    });
  }

  return {
    async send(letter) {
      if (closed) throw new Error("The mailer is closed");
      const transport = await (loading ??= open());
      try {
        await transport.sendMail({
          messageId: `<${letter.id}@${hostOf(mailFrom)}>`,
          from: mailFrom,
          // As an object, so that nothing in it is read as a second address.
          to: { name: "", address: letter.to },
          subject: oneLine(letter.subject),
          text: textOf(letter),
          html: htmlOf(letter),
          xMailer: false,
          headers: { "Auto-Submitted": "auto-generated" },
        });
      } catch (error) {
        throw refusalOf(error) ?? error;
      }
    },
    close() {
      closed = true;
      void loading?.then((transport) => transport.close());
    },
  };
}

/** The host of the sender's address; anything else is for the server to refuse. */
const hostOf = (from: string): string => /@([\w.-]+)>?\s*$/.exec(from)?.[1] ?? "localhost";

/** A server says with 5xx that it will never take this letter; said of the sender or the password, somebody can mend it. */
function refusalOf(error: unknown) {
  const { responseCode = 0, command, response } = error as SmtpError;
  if (responseCode < 500 || responseCode === 503 || (command !== "RCPT TO" && command !== "DATA")) return undefined;
  return unprocessable(`The mail server refused the mail: ${response}`);
}

interface SmtpError {
  readonly responseCode?: number;
  readonly command?: string;
  readonly response?: string;
}
