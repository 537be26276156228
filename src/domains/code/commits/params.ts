import Type, { type Static } from "typebox";
import { DateTime, Flag, Text } from "#http/params/vocabulary.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";
import type { Action } from "#git/writing/plan.ts";
import { badParameter } from "#lib/refusal.ts";

/** A branch, a tag or the id of a commit. */
export const Revision = Type.String({ maxLength: 1024, description: "A branch, a tag or a commit" });
export const FilePath = Type.String({ maxLength: 4096 });

export const CommitFilters = Type.Object({
  ...ProjectId.properties,
  ref_name: Type.Optional(Revision),
  since: Type.Optional(DateTime),
  until: Type.Optional(DateTime),
  path: Type.Optional(FilePath),
  author: Type.Optional(Type.String({ maxLength: 255, description: "Part of the author's name or address" })),
  all: Type.Optional(Type.Boolean({ description: "Commits of all branches and tags" })),
  with_stats: Type.Optional(Type.Boolean({ description: "Include how many lines each commit changed" })),
  first_parent: Type.Optional(Type.Boolean({ description: "Follow only the first parent of each commit" })),
  order: Type.Optional(Type.Enum(["default", "topo"], { description: "`topo` lists parents after their children" })),
  trailers: Type.Optional(Type.Boolean({ description: "Include the trailers of messages" })),
});

export const CommitId = Type.Object({ ...ProjectId.properties, sha: Revision });

export const CommitView = Type.Object({ ...CommitId.properties, stats: Type.Boolean({ default: true }) });

export const DiffView = Type.Object({ ...CommitId.properties, unidiff: Flag });

export const RefFilters = Type.Object({
  ...CommitId.properties,
  type: Type.Enum(["branch", "tag", "all"], { default: "all" }),
});

export const SequenceView = Type.Object({ ...CommitId.properties, first_parent: Flag });

/** The largest body of a commit. */
export const MAX_COMMIT_BODY_BYTES = 20 * 1024 * 1024;
const MAX_ACTIONS = 1000;
const MAX_MESSAGE_BYTES = 512 * 1024;
const MAX_PATH_LENGTH = 4096;

const DescribedText = (maxLength: number, description: string) => Type.String({ minLength: 1, maxLength, description });

export const Branch = Text(255);
export const Path = Text(MAX_PATH_LENGTH);
export const Content = Type.String({ maxLength: MAX_COMMIT_BODY_BYTES, description: "Content of the file" });
export const Encoding = Type.Optional(Type.Enum(["text", "base64"], { description: "Encoding of `content`" }));
export const LastCommitId = Type.Optional(
  DescribedText(64, "The last known commit of the file; refused if the file has changed since"),
);

/** Parameters of every commit. */
export const commitFields = {
  branch: Branch,
  commit_message: Text(MAX_MESSAGE_BYTES),
  start_branch: Type.Optional(DescribedText(255, "The branch to start a new one from")),
  author_name: Type.Optional(Text(255)),
  author_email: Type.Optional(Text(255)),
};

const CommitAction = Type.Object({
  action: Type.Enum(["create", "delete", "move", "update", "chmod"]),
  file_path: Path,
  previous_path: Type.Optional(Path),
  content: Type.Optional(Content),
  encoding: Encoding,
  last_commit_id: LastCommitId,
  execute_filemode: Flag,
});

export const NewCommit = Type.Object(
  {
    ...ProjectId.properties,
    ...commitFields,
    start_sha: Type.Optional(DescribedText(64, "The commit to start a new branch from")),
    start_project: Type.Optional(DescribedText(1024, "Only the project itself is supported")),
    actions: Type.Array(CommitAction, { minItems: 1, maxItems: MAX_ACTIONS }),
    stats: Type.Boolean({ default: true, description: "Whether to count lines" }),
    force: Type.Boolean({ default: false, description: "Whether to replace an existing branch" }),
  },
  { mutuallyExclusive: [["start_branch", "start_sha"]] },
);

const pickFields = {
  ...CommitId.properties,
  branch: Branch,
  dry_run: Type.Boolean({ default: false, description: "Whether only to check if it is possible" }),
};

export const RevertedCommit = Type.Object(pickFields);

export const PickedCommit = Type.Object({ ...pickFields, message: Type.Optional(Text(MAX_MESSAGE_BYTES)) });

/** Decodes content; base64 may be broken into lines. */
export function bytesOf(content: string, encoding: "text" | "base64" | undefined, name = "content"): Buffer {
  if (encoding === "base64" && /[^\w+/=\s-]/.test(content)) throw badParameter(`${name} is invalid`);
  return Buffer.from(content, encoding === "base64" ? "base64" : "utf8");
}

/** Converts an action; refused if a field that its kind needs is missing. */
export function actionOf(sent: Static<typeof CommitAction>, index: number): Action {
  const { action, file_path: path, previous_path: from, content, encoding, execute_filemode: executable } = sent;
  const place = (name: string) => `actions[${index}][${name}]`;
  const need = <T>(name: string, value: T | undefined): T => {
    if (value === undefined) throw badParameter(`${place(name)} is missing`);
    return value;
  };
  const bytes = () => bytesOf(need("content", content), encoding, place("content"));
  const mode = executable !== undefined && { executable };
  switch (action) {
    case "create":
      return { action, path, content: bytes(), executable: executable ?? false };
    case "update":
      return { action, path, content: bytes(), ...mode };
    case "move":
      return {
        action,
        path,
        from: need("previous_path", from),
        ...(content !== undefined && { content: bytes() }),
        ...mode,
      };
    case "delete":
      return { action, path };
    case "chmod":
      return { action, path, executable: need("execute_filemode", executable) };
  }
}

/** The file of an action that must not have changed since the commit that the caller names. */
export function unchangedFilesOf({
  action,
  file_path,
  previous_path,
  last_commit_id: since,
}: Static<typeof CommitAction>) {
  const path = action === "move" ? (previous_path ?? file_path) : file_path;
  return since === undefined || action === "create" ? [] : [{ path, since }];
}

/** The author, as far as it is named. */
export const authorOf = ({
  author_name: name,
  author_email: email,
}: {
  author_name?: string;
  author_email?: string;
}) => ({
  ...(name !== undefined && { name }),
  ...(email !== undefined && { email }),
});
