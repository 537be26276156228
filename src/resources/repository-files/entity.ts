import Type, { type Static } from "typebox";
import type { Commit as CommitRead } from "#git/objects/commits.ts";
import { FILE_HEADER } from "#http/aliases.ts";
import { Nullable } from "#http/params/vocabulary.ts";
import { Commit, presentCommit } from "#resources/commits/entity.ts";

const exact = { additionalProperties: false };

const about = {
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

export const RepositoryFile = Type.Object({ ...about, content: Type.String() }, { ...exact, title: "RepositoryFile" });

const { id, parent_ids, message, author_name, author_email, authored_date } = Commit.properties;
const { committer_name, committer_email, committed_date } = Commit.properties;

const BlamedCommit = Type.Object(
  {
    ...{ id, parent_ids, message, author_name, author_email, authored_date },
    ...{ committer_name, committer_email, committed_date },
  },
  { ...exact, title: "BlamedCommit" },
);

/** Lines of a file and the commit that wrote them. */
export const BlamedLines = Type.Object(
  { commit: BlamedCommit, lines: Type.Array(Type.String()) },
  { ...exact, title: "BlamedLines" },
);

export function presentBlamed(commit: CommitRead, lines: string[]): Static<typeof BlamedLines> {
  const told = presentCommit(commit, "", false);
  return {
    commit: {
      id: told.id,
      parent_ids: told.parent_ids,
      message: told.message,
      author_name: told.author_name,
      author_email: told.author_email,
      authored_date: told.authored_date,
      committer_name: told.committer_name,
      committer_email: told.committer_email,
      committed_date: told.committed_date,
    },
    lines,
  };
}

/** A file without what takes longer to find out than where it is. */
export type AboutFile = Omit<Static<typeof RepositoryFile>, "content" | "content_sha256" | "last_commit_id">;

/** What `HEAD` is asked for: fields of a file in headers named after them. */
export function setFileHeaders(setHeader: (name: string, value: string) => void, about: Partial<Described>) {
  for (const [field, value] of Object.entries(about)) {
    if (value !== null) setHeader(`${FILE_HEADER}${field.replaceAll("_", "-")}`, headerText(String(value)));
  }
}

type Described = Omit<Static<typeof RepositoryFile>, "content">;

/** A header holds plain ASCII alone. */
const headerText = (text: string) => text.replaceAll(/[^\u0020-\u007E]+/g, encodeURIComponent);
