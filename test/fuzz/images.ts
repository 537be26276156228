import fc, { type Arbitrary } from "fast-check";
import { Upload } from "./marks.ts";

const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part, "latin1") : Buffer.from(part))));

export const PNG = bytes(
  [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d],
  "IHDR",
  [0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89],
);
const GIF = bytes("GIF89a", [1, 0, 1, 0, 0, 0, 0, 0x3b]);

/** The first bytes of every file type that a reader of image sizes might try. */
const BEGINNINGS: readonly Buffer[] = [
  PNG,
  GIF,
  bytes("GIF89a", [0, 0, 0, 0]),
  bytes([0xff, 0xd8, 0xff, 0xe0, 0, 4]),
  bytes([0xff, 0xd8, 0xff, 0xe1, 0xff, 0xff], "Exif\0\0II*\0", [8, 0, 0, 0, 0xff, 0xff]),
  bytes("BM", [0x1a, 0, 0, 0, 0, 0, 0, 0, 0x1a, 0, 0, 0, 0x0c, 0, 0, 0]),
  bytes("RIFF", [0x1a, 0, 0, 0], "WEBPVP8 "),
  bytes("RIFF", [0, 0, 0, 0], "WEBPVP8X", [0x0a, 0, 0, 0]),
  bytes("II*\0", [8, 0, 0, 0, 0xff, 0xff]),
  bytes("MM\0*", [0, 0, 0, 8, 0, 0]),
  bytes([0, 0, 1, 0, 0xff, 0xff]),
  bytes([0, 0, 1, 0, 1, 0, 0, 0, 0, 0]),
  bytes("icns", [0, 0, 0, 0x20], "ICON", [0, 0, 0, 0]),
  bytes([0, 0, 0, 0x0c], "JXL ", [0x0d, 0x0a, 0x87, 0x0a, 0, 0, 0, 0], "jxlp", [0, 0, 0, 0]),
  bytes([0, 0, 0, 0x18], "ftypheic", [0, 0, 0, 0], "mif1", [0, 0, 0, 0], "meta", [0, 0, 0, 0]),
  bytes([0, 0, 0, 0x0c], "jP  ", [0x0d, 0x0a, 0x87, 0x0a, 0, 0, 0, 0], "jp2h"),
  bytes("DDS ", [0x7c, 0, 0, 0]),
  bytes([0xab], "KTX 11", [0xbb, 0x0d, 0x0a, 0x1a, 0x0a]),
  bytes("8BPS", [0, 1]),
  bytes("P6\n1 1\n255\n"),
  bytes('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1" onload="alert(1)"/>'),
  bytes(`<svg ${"a ".repeat(2000)}`),
  bytes("GIF89a=1;/*"),
  bytes("<?php system($_GET[0]);"),
  bytes(""),
];

const FILE_NAMES = [
  ...[
    "avatar.png",
    "a.svg",
    "a.html",
    "../../../etc/passwd",
    "..\\..\\boot.ini",
    "/etc/passwd",
    "",
    ".",
    "CON",
    "a\u0000.png",
  ],
  ...[
    'a"b.png',
    "a\\.png",
    "a;b.png",
    "ä.png",
    "👩.png",
    "a\r\nx-injected: 1",
    "%00",
    "%2e%2e",
    "a".repeat(5000),
    " .png ",
  ],
];
const FILE_TYPES = [
  "image/png",
  "image/gif",
  "image/svg+xml",
  "text/html",
  "",
  "multipart/mixed; boundary=x",
  "a".repeat(300),
];

export const image: Arbitrary<Upload> = fc
  .constantFrom(PNG, GIF)
  .map((content) => new Upload("avatar.png", "image/png", content));

/** Files that are no images, nearly images, or too large. */
export const hostileFile: Arbitrary<Upload> = fc
  .tuple(
    fc.constantFrom(...FILE_NAMES),
    fc.constantFrom(...FILE_TYPES),
    fc.constantFrom(...BEGINNINGS),
    fc.uint8Array({ maxLength: 64 }),
    fc.oneof(
      { arbitrary: fc.constant(0), weight: 60 },
      { arbitrary: fc.constantFrom(200 * 1024, 200 * 1024 + 1), weight: 2 },
      { arbitrary: fc.constantFrom(1024 * 1024 + 1, 5 * 1024 * 1024 + 1), weight: 1 },
    ),
  )
  .map(([name, type, beginning, rest, size]) => {
    const content = Buffer.concat([beginning, rest]);
    return new Upload(
      name,
      type,
      content.length < size ? Buffer.concat([content, Buffer.alloc(size - content.length)]) : content,
    );
  });
