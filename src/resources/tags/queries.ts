import { readCommit, readTag } from "#git/objects/commits.ts";
import type { Ref } from "#git/objects/refs.ts";
import { isRefName } from "#git/refs.ts";
import type { Repository } from "#git/storages/storage.ts";
import { missing } from "#lib/refusal.ts";
import { addressOf, type Asking } from "#resources/repositories/reading.ts";
import { presentTag } from "./entity.ts";

/** Tags as they are told. */
export async function describeTags(asking: Asking, repository: Repository, refs: readonly Ref[]) {
  const address = await addressOf(asking);
  return Promise.all(
    refs.map(async ({ name, id }) => {
      const [tag, target] = await Promise.all([
        readTag(repository, id),
        // A tag may point to another tag, and to something else than a commit.
        repository.objects.info(`${id}^{commit}`),
      ]);
      const commit = target && (await readCommit(repository, target.id));
      return presentTag({ name, id, commit, tag }, address);
    }),
  );
}

/** One tag by its name, as it is told. */
export async function describeTag(asking: Asking, repository: Repository, name: string) {
  const ref = `refs/tags/${name}`;
  const found = isRefName(ref) ? await repository.objects.info(ref) : undefined;
  const [tag] = found ? await describeTags(asking, repository, [{ name, id: found.id }]) : [];
  if (!tag) throw missing("Tag");
  return tag;
}
