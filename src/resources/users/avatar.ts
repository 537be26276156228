import { imageSize } from "image-size";
import type { UploadedFile } from "#http/params/raw.ts";
import type { Blobs } from "#lib/blobs.ts";
import { type Problems, refuse } from "./validate.ts";

const LARGEST = 200 * 1024;

/** Kinds of images that an avatar may be, with their content types; SVG can carry scripts and is not among them. */
const TYPES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  gif: "image/gif",
  bmp: "image/bmp",
  tiff: "image/tiff",
  ico: "image/x-icon",
  webp: "image/webp",
};

/** The kind of an image by its bytes, whatever its name says. */
function kindOf(bytes: Buffer): string | undefined {
  try {
    const { type, width, height } = imageSize(bytes);
    return type !== undefined && type in TYPES && width > 0 && height > 0 ? type : undefined;
  } catch {
    return undefined;
  }
}

export function checkAvatar(problems: Problems, { bytes }: UploadedFile) {
  if (bytes.length > LARGEST) refuse(problems, "avatar", "is too big (should be at most 200 KiB)");
  else if (kindOf(bytes) === undefined) {
    refuse(
      problems,
      "avatar",
      `file format is not supported. Please try one of the following supported formats: ${Object.keys(TYPES).join(", ")}`,
    );
  }
}

/** Keeps the image and names it by what it is; the name that it came with is not trusted. */
export async function keepAvatar(blobs: Blobs, { bytes }: UploadedFile) {
  return { avatar_blob: await blobs.put(bytes), avatar_file: `avatar.${kindOf(bytes)}` };
}

export const avatarType = (file: string): string =>
  TYPES[file.slice(file.lastIndexOf(".") + 1)] ?? "application/octet-stream";

/** A plain picture for those who have none: the first letter of the name on a colour of their own. */
export function defaultAvatar(id: number, name: string): string {
  const letter = [...name.trim()][0]?.toUpperCase() ?? "?";
  const text = /[\p{L}\p{N}]/u.test(letter) ? letter : "?";
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 80 80"><rect width="80" height="80" fill="hsl(${(id * 137) % 360} 45% 45%)"/>` +
    `<text x="40" y="54" font-family="sans-serif" font-size="40" fill="#fff" text-anchor="middle">${text}</text></svg>`
  );
}
