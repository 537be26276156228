import { abridged, readAllowance, readCommit, readTag } from "#git/objects/commits.ts";
import type { Ref } from "#git/objects/refs.ts";
import { isRefName } from "#git/refs.ts";
import type { Repository } from "#git/storages/storage.ts";
import { missing } from "#lib/refusal.ts";
import { MAX_LISTED_MESSAGE_BYTES } from "#resources/commits/entity.ts";
import { answerBudget, fitRows, MAX_ANSWER_BYTES } from "#resources/repositories/answer-budget.ts";
import { addressOf, type Asking } from "#resources/repositories/reading.ts";
import { presentTag } from "./entity.ts";

type TagsAsking = Asking & { setHeader(name: string, value: string): void };

/** Tags as they are told. */
export async function describeTags(
  asking: TagsAsking,
  repository: Repository,
  refs: readonly Ref[],
  // Half of what is told of a tag is its commit.
  messageBytes = MAX_LISTED_MESSAGE_BYTES / 2,
) {
  const address = await addressOf(asking);
  const budget = answerBudget(asking.setHeader);
  const wanted = { messageBytes, allows: readAllowance() };
  return fitRows(budget, refs, async ({ name, id }) => {
    const tag = await readTag(repository, id, wanted);
    // A tag may point to another tag, and to something else than a commit.
    const target = await repository.objects.info(`${id}^{commit}`);
    const commit = target && (await readCommit(repository, target.id, wanted));
    if (tag?.truncated || commit?.truncated) budget.markTruncated();
    return [
      () => presentTag({ name, id, commit, tag }, address),
      () => presentTag({ name, id, commit: commit && abridged(commit), tag: tag && abridged(tag) }, address),
    ];
  });
}

/** One tag by its name, as it is told. */
export async function describeTag(asking: TagsAsking, repository: Repository, name: string) {
  const ref = `refs/tags/${name}`;
  const found = isRefName(ref) ? await repository.objects.info(ref) : undefined;
  const [tag] = found ? await describeTags(asking, repository, [{ name, id: found.id }], MAX_ANSWER_BYTES) : [];
  if (!tag) throw missing("Tag");
  return tag;
}
