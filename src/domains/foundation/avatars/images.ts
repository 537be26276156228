import { imageSize } from "image-size";
import type { UploadedFile } from "#http/params/raw.ts";
import type { Blobs } from "#lib/blobs.ts";
import { type Problems, refuse } from "#lib/problems.ts";
import { missing } from "#lib/refusal.ts";

const MAX_BYTES = 200 * 1024;

/** Allowed image types and their content types; SVG is excluded because it can carry scripts. */
const TYPES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  gif: "image/gif",
  bmp: "image/bmp",
  tiff: "image/tiff",
  ico: "image/x-icon",
  webp: "image/webp",
};

/** Detects the type of an image from its bytes, not from its file name. */
export function imageKind(bytes: Buffer): string | undefined {
  try {
    const { type, width, height } = imageSize(bytes);
    return type !== undefined && type in TYPES && width > 0 && height > 0 ? type : undefined;
  } catch {
    return undefined;
  }
}

export function checkAvatar(problems: Problems, avatar: UploadedFile) {
  if (avatar.bytes.length > MAX_BYTES) refuse(problems, "avatar", "is too big (should be at most 200 KiB)");
  else if (imageKind(avatar.bytes) === undefined) refuse(problems, "avatar", NOT_SUPPORTED);
}

export const NOT_SUPPORTED = `file format is not supported. Please try one of the following supported formats: ${Object.keys(TYPES).join(", ")}`;

/** The content type of an image by the name that its file was given here. */
export const contentTypeOf = (file: string): string =>
  TYPES[file.slice(file.lastIndexOf(".") + 1)] ?? "application/octet-stream";

/** The avatar columns of users, groups and projects. */
export interface AvatarColumns {
  readonly avatar_blob: string | null;
  readonly avatar_file: string | null;
}

/** Stores an image and names its file by the detected type, not by the uploaded name; null removes the avatar. */
export async function avatarColumns(
  avatar: UploadedFile | null | undefined,
  blobs: Blobs,
): Promise<Partial<AvatarColumns>> {
  if (avatar === undefined) return {};
  if (avatar === null) return { avatar_blob: null, avatar_file: null };
  return { avatar_blob: await blobs.put(avatar.bytes), avatar_file: `avatar.${imageKind(avatar.bytes)}` };
}

/** Reads an avatar by its file name and returns the bytes and the content type. */
export async function avatarNamed(file: string, kept: AvatarColumns | undefined, blobs: Blobs) {
  const bytes = kept?.avatar_blob && kept.avatar_file === file ? await blobs.get(kept.avatar_blob) : undefined;
  if (!bytes) throw missing("Avatar");
  return { bytes, type: contentTypeOf(file) };
}
