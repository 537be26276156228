/** A text that is written to the request without quoting or percent-encoding. */
export class Verbatim {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A full path whose slashes are not percent-encoded. */
export class Pieces extends Verbatim {}

/** A file part of a multipart body. */
export class Upload {
  readonly filename: string;
  readonly type: string;
  readonly bytes: Buffer;

  constructor(filename: string, type: string, bytes: Buffer) {
    this.filename = filename;
    this.type = type;
    this.bytes = bytes;
  }
}

/** A part of every password that is sent; no response and no log line may contain it. */
export const PASSWORD_CANARY = "Kanarie9!vogel";

/** A foreign host; no link may lead there. */
export const FOREIGN_HOST = "foreign.example";
