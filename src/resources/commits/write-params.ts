import Type, { type Static } from "typebox";
import type { Action } from "#git/writing/plan.ts";
import { Flag, Text } from "#http/params/vocabulary.ts";
import { badParameter } from "#lib/refusal.ts";
import { ProjectId } from "#resources/projects/params.ts";
import { CommitId } from "./params.ts";

/** Bytes of a body that carries files. */
export const MOST_COMMITTED = 20 * 1024 * 1024;
const MOST_ACTIONS = 1000;
const MOST_MESSAGE = 512 * 1024;
const MOST_PATH = 4096;

const Described = (maxLength: number, description: string) => Type.String({ minLength: 1, maxLength, description });

export const Branch = Text(255);
export const Path = Text(MOST_PATH);
export const Content = Type.String({ maxLength: MOST_COMMITTED, description: "What the file holds" });
export const Encoding = Type.Optional(Type.Enum(["text", "base64"], { description: "How `content` is written" }));
export const LastCommitId = Type.Optional(
  Described(64, "The commit by which the caller knows the file: refused if it has changed since"),
);

/** What every commit over the API has. */
export const Committing = {
  branch: Branch,
  commit_message: Text(MOST_MESSAGE),
  start_branch: Type.Optional(Described(255, "The branch that a new one begins at")),
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
    ...Committing,
    start_sha: Type.Optional(Described(64, "The commit that a new branch begins at")),
    start_project: Type.Optional(Described(1024, "Only the project itself")),
    actions: Type.Array(CommitAction, { minItems: 1, maxItems: MOST_ACTIONS }),
    stats: Type.Boolean({ default: true, description: "Whether to count lines" }),
    force: Type.Boolean({ default: false, description: "Whether a branch that exists begins anew at the start" }),
  },
  { mutuallyExclusive: [["start_branch", "start_sha"]] },
);

const picking = {
  ...CommitId.properties,
  branch: Branch,
  dry_run: Type.Boolean({ default: false, description: "Whether only to find out if it can be done" }),
};

export const RevertedCommit = Type.Object(picking);

export const PickedCommit = Type.Object({ ...picking, message: Type.Optional(Text(MOST_MESSAGE)) });

/** What a caller sent, as bytes; base64 may be broken into lines. */
export function bytesOf(content: string, encoding: "text" | "base64" | undefined, name = "content"): Buffer {
  if (encoding === "base64" && /[^\w+/=\s-]/.test(content)) throw badParameter(`${name} is invalid`);
  return Buffer.from(content, encoding === "base64" ? "base64" : "utf8");
}

/** One action of a commit, once what its kind needs is there. */
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

/** The file that an action is about, by the commit that the caller knows it by; a file that is new has none. */
export function knownOf({ action, file_path, previous_path, last_commit_id: since }: Static<typeof CommitAction>) {
  const path = action === "move" ? (previous_path ?? file_path) : file_path;
  return since === undefined || action === "create" ? [] : [{ path, since }];
}

/** The author where another one than the caller is named. */
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
