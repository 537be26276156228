import type { Logger } from "pino";
import type { Config } from "#config.ts";
import { unprocessable } from "#lib/refusal.ts";
import { htmlOf, type Letter, oneLine, textOf } from "./letter.ts";

export interface Mailer {
  /** Resolves once the server has accepted the letter. A refusal is permanent; any other error may be retried. */
  send(letter: Letter): Promise<void>;
  close(): void;
}

type Settings = Pick<Config, "smtpUrl" | "mailFrom" | "jobConcurrency">;

export const openMailer = (config: Settings, log: Pick<Logger, "info">): Mailer =>
  config.smtpUrl === undefined ? mailToLog(log) : mailBySmtp(config.smtpUrl, config);

/** Logs that a mail would have been sent, without its content, which may hold a link meant for the receiver alone. */
const mailToLog = (log: Pick<Logger, "info">): Mailer => ({
  async send({ id, to, subject }) {
    log.info(
      { mail_id: id, to, subject: oneLine(subject) },
      "mail was not sent: no SMTP server is set; FAIRLEAD_SMTP_URL says which one to use",
    );
  },
  close() {},
});

/** Together they keep a hanging server from blocking a worker for a minute. */
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
      // Retries after a failure are up to the job; this one covers a pooled connection that the server had closed.
      maxRequeues: 1,
      // Credentials need TLS unless the address ends in `?requireTLS=false`.
      requireTLS: new URL(url).password !== "",
      disableFileAccess: true,
      disableUrlAccess: true,
      ...TIMEOUTS,
    });
  }

  const messageId = (id: string) => `<${id}@${hostOf(mailFrom)}>`;

  return {
    async send(letter) {
      if (closed) throw new Error("The mailer is closed");
      const transport = await (loading ??= open());
      try {
        await transport.sendMail({
          messageId: messageId(letter.id),
          ...(letter.thread !== undefined && {
            inReplyTo: messageId(letter.thread),
            references: messageId(letter.thread),
          }),
          from: mailFrom,
          // An object, since a string could be parsed as several addresses.
          to: { name: "", address: letter.to },
          subject: oneLine(letter.subject),
          text: textOf(letter),
          html: htmlOf(letter),
          xMailer: false,
          headers: { "Auto-Submitted": "auto-generated", ...unsubscribeHeaders(letter) },
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

/** RFC 8058 lets mail programs send the request themselves over HTTPS only; otherwise they show the link. */
const unsubscribeHeaders = ({ unsubscribe: url }: Letter) =>
  url !== undefined && {
    "List-Unsubscribe": `<${url}>`,
    ...(url.startsWith("https:") && { "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" }),
  };

/** The host of the sender's address; the SMTP server refuses an invalid one. */
const hostOf = (from: string): string => /@([\w.-]+)>?\s*$/.exec(from)?.[1] ?? "localhost";

/** A 5xx reply is permanent for this letter, unless it is about the sender or the credentials, which can be corrected. */
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
