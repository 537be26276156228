import Type, { type Static } from "typebox";
import type { Commit as CommitRead } from "#git/objects/commits.ts";
import { Nullable } from "#http/params/vocabulary.ts";
import { Commit, presentCommit } from "#domains/code/commits/entity.ts";

const exact = { additionalProperties: false };

const metadata = {
  file_name: Type.String(),
  file_path: Type.String(),
  size: Type.Integer(),
  encoding: Type.Literal("base64"),
  content_sha256: Type.String(),
  ref: Type.String(),
  blob_id: Type.String(),
  commit_id: Type.String(),
  last_commit_id: Nullable(Type.String()),
  execute_filemode: Type.Boolean(),
};

export const RepositoryFile = Type.Object(
  { ...metadata, content: Type.String() },
  { ...exact, title: "RepositoryFile" },
);

const { id, parent_ids, message, author_name, author_email, authored_date } = Commit.properties;
const { committer_name, committer_email, committed_date } = Commit.properties;

const BlamedCommit = Type.Object(
  {
    ...{ id, parent_ids, message, author_name, author_email, authored_date },
    ...{ committer_name, committer_email, committed_date },
  },
  { ...exact, title: "BlamedCommit" },
);

/** Lines of a file and the commit that last changed them. */
export const BlamedLines = Type.Object(
  { commit: BlamedCommit, lines: Type.Array(Type.String()) },
  { ...exact, title: "BlamedLines" },
);

export function presentBlamed(commit: CommitRead, lines: string[]): Static<typeof BlamedLines> {
  const presented = presentCommit(commit, "", false);
  return {
    commit: {
      id: presented.id,
      parent_ids: presented.parent_ids,
      message: presented.message,
      author_name: presented.author_name,
      author_email: presented.author_email,
      authored_date: presented.authored_date,
      committer_name: presented.committer_name,
      committer_email: presented.committer_email,
      committed_date: presented.committed_date,
    },
    lines,
  };
}

/** The metadata of a file that is known without reading it or its history. */
export type FileMetadata = Omit<Static<typeof RepositoryFile>, "content" | "content_sha256" | "last_commit_id">;

/** The prefix of the headers in which unmodified clients look for the fields of a file. */
const FILE_HEADER = "x-gitlab-";

/** Sets a header for each field of a file, which clients read by a HEAD request. */
export function setFileHeaders(setHeader: (name: string, value: string) => void, metadata: Partial<AllMetadata>) {
  for (const [field, value] of Object.entries(metadata)) {
    if (value !== null) setHeader(`${FILE_HEADER}${field.replaceAll("_", "-")}`, headerText(String(value)));
  }
}

type AllMetadata = Omit<Static<typeof RepositoryFile>, "content">;

/** A header is plain ASCII. */
const headerText = (text: string) => text.replaceAll(/[^\u0020-\u007E]+/g, encodeURIComponent);
