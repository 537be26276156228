import Type from "typebox";
import { FilePath, Revision } from "#resources/commits/params.ts";
import { ProjectId } from "#resources/projects/params.ts";

export const FileOfRef = Type.Object({
  ...ProjectId.properties,
  file_path: FilePath,
  ref: Type.Optional(Revision),
});

const Line = Type.Integer({ minimum: 1, maximum: 10_000_000 });

export const BlamedFile = Type.Object({
  ...FileOfRef.properties,
  range: Type.Optional(Type.Object({ start: Line, end: Line }, { description: "Only these lines, from 1" })),
});
