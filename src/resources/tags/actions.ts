import type { Static } from "typebox";
import { resolveCommit } from "#git/objects/names.ts";
import type { Repository } from "#git/storages/storage.ts";
import { makeTag } from "#git/writing/tags.ts";
import { invalid, missing } from "#lib/refusal.ts";
import {
  type CodeWriting,
  committerOf,
  createRef,
  deleteRef,
  isShortName,
  openToWrite,
} from "#resources/repositories/writing.ts";
import type { NewTag } from "./write-params.ts";

export async function createTag(
  writing: CodeWriting,
  { tag_name: name, ref: target, message }: Static<typeof NewTag>,
): Promise<Repository> {
  if (!isShortName(name)) throw invalid("Tag name invalid");
  const opened = await openToWrite(writing);
  const { repository } = opened;
  const commit = await resolveCommit(repository, target);
  if (commit === undefined) throw invalid(`Target ${target} is invalid`);
  const tagger = await committerOf(writing);
  const id = message.trim() === "" ? commit : await makeTag(repository, { name, commit, message, tagger });
  const made = { ref: `refs/tags/${name}`, id, details: { tag: name, commit_id: commit } };
  await createRef(writing, opened, made, `Tag ${name} already exists`);
  return repository;
}

export async function deleteTag(writing: CodeWriting, name: string) {
  if (!(await deleteRef(writing, "tags", name, { tag: name }))) throw missing("Tag");
}
