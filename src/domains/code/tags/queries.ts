import { abridged, readAllowance, readCommit, readTag } from "#git/objects/commits.ts";
import type { Ref } from "#git/objects/refs.ts";
import { isRefName } from "#git/refs.ts";
import type { Repository } from "#git/storages/storage.ts";
import { missing } from "#lib/refusal.ts";
import { MAX_LISTED_MESSAGE_BYTES } from "#domains/code/commits/entity.ts";
import { answerBudget, fitRows, MAX_ANSWER_BYTES } from "#domains/code/repository/answer-budget.ts";
import { addressOf, type CodeRequest } from "#domains/code/repository/reading.ts";
import { presentTag } from "./entity.ts";

type TagsRequest = CodeRequest & { setHeader(name: string, value: string): void };

export async function describeTags(
  request: TagsRequest,
  repository: Repository,
  refs: readonly Ref[],
  // A tag is presented with two messages, its own and that of its commit.
  messageBytes = MAX_LISTED_MESSAGE_BYTES / 2,
) {
  const address = await addressOf(request);
  const budget = answerBudget(request.setHeader);
  const options = { messageBytes, allows: readAllowance() };
  return fitRows(budget, refs, async ({ name, id }) => {
    const tag = await readTag(repository, id, options);
    // A tag may point to another tag, and to something else than a commit.
    const target = await repository.objects.info(`${id}^{commit}`);
    const commit = target && (await readCommit(repository, target.id, options));
    if (tag?.truncated || commit?.truncated) budget.markTruncated();
    return [
      () => presentTag({ name, id, commit, tag }, address),
      () => presentTag({ name, id, commit: commit && abridged(commit), tag: tag && abridged(tag) }, address),
    ];
  });
}

/** Presents a tag by its name. */
export async function describeTag(request: TagsRequest, repository: Repository, name: string) {
  const ref = `refs/tags/${name}`;
  const found = isRefName(ref) ? await repository.objects.info(ref) : undefined;
  const [tag] = found ? await describeTags(request, repository, [{ name, id: found.id }], MAX_ANSWER_BYTES) : [];
  if (!tag) throw missing("Tag");
  return tag;
}
