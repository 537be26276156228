import Type from "typebox";
import {
  commitFields,
  Content,
  Encoding,
  FilePath,
  LastCommitId,
  Path,
  Revision,
} from "#domains/code/commits/params.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";
import { Flag } from "#http/params/vocabulary.ts";

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

const file = { ...ProjectId.properties, file_path: Path, ...commitFields };

export const NewFile = Type.Object({ ...file, content: Content, encoding: Encoding, execute_filemode: Flag });

export const FileChange = Type.Object({ ...NewFile.properties, last_commit_id: LastCommitId });

export const FileRemoval = Type.Object({ ...file, last_commit_id: LastCommitId });
