import Type from "typebox";
import { Flag } from "#http/params/vocabulary.ts";
import { Committing, Content, Encoding, LastCommitId, Path } from "#resources/commits/write-params.ts";
import { ProjectId } from "#resources/projects/params.ts";

const file = { ...ProjectId.properties, file_path: Path, ...Committing };

export const NewFile = Type.Object({ ...file, content: Content, encoding: Encoding, execute_filemode: Flag });

export const FileChange = Type.Object({ ...NewFile.properties, last_commit_id: LastCommitId });

export const FileRemoval = Type.Object({ ...file, last_commit_id: LastCommitId });
