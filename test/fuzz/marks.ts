/** A text that stands in the request as it is, without the quotes or percent signs its place would give it. */
export class Verbatim {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A full path whose slashes stand in the address as they are. */
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

/** No answer and no log line may ever hold this: every password that is sent does. */
export const PASSWORD_CANARY = "Kanarie9!vogel";

/** A host that is not ours; no link may lead there. */
export const FOREIGN_HOST = "foreign.example";
