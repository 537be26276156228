import type { Static } from "typebox";
import { resolveCommit } from "#git/objects/names.ts";
import type { Repository } from "#git/storages/storage.ts";
import { writeTag } from "#git/writing/tags.ts";
import { invalid, missing } from "#lib/refusal.ts";
import {
  type CodeWriteRequest,
  committerOf,
  createRef,
  deleteRef,
  isShortName,
  authorizeWrite,
} from "#domains/code/repository/writing.ts";
import type { NewTag } from "./params.ts";

export async function createTag(
  writing: CodeWriteRequest,
  { tag_name: name, ref: target, message }: Static<typeof NewTag>,
): Promise<Repository> {
  if (!isShortName(name)) throw invalid("Tag name invalid");
  const access = await authorizeWrite(writing);
  const { repository } = access;
  const commit = await resolveCommit(repository, target);
  if (commit === undefined) throw invalid(`Target ${target} is invalid`);
  const tagger = await committerOf(writing);
  const id = message.trim() === "" ? commit : await writeTag(repository, { name, commit, message, tagger });
  const created = { ref: `refs/tags/${name}`, id, details: { tag: name, commit_id: commit } };
  await createRef(writing, access, created, `Tag ${name} already exists`);
  return repository;
}

export async function deleteTag(writing: CodeWriteRequest, name: string) {
  if (!(await deleteRef(writing, "tags", name, { tag: name }))) throw missing("Tag");
}
