import Type, { type Static } from "typebox";
import type { ObjectInfo } from "#git/objects/object.ts";
import type { TreeEntry as EntryRead } from "#git/objects/trees.ts";

const exact = { additionalProperties: false };

export const TreeEntry = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    type: Type.Enum(["tree", "blob", "commit"]),
    path: Type.String(),
    mode: Type.String(),
  },
  { ...exact, title: "TreeEntry" },
);

export const Blob = Type.Object(
  { size: Type.Integer(), encoding: Type.Literal("base64"), content: Type.String(), sha: Type.String() },
  { ...exact, title: "Blob" },
);

export const presentEntry = ({ id, name, type, path, mode }: EntryRead): Static<typeof TreeEntry> => ({
  id,
  name,
  type,
  path,
  mode,
});

export const presentBlob = ({ id, size }: ObjectInfo, content: string): Static<typeof Blob> => ({
  size,
  encoding: "base64",
  content,
  sha: id,
});
