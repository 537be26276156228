import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import type { RefChange } from "#git/push-commands.ts";
import type { Repository } from "#git/storages/storage.ts";
import { insertAudit } from "#http/audit.ts";
import { describePush, recordPush, unrecorded } from "#domains/foundation/events/pushes.ts";
import { projectActivity } from "#domains/foundation/events/record.ts";
import { ghostUser } from "#domains/identity/users/ghost.ts";
import { adoptDefaultBranch, newDefaultBranch } from "#domains/storage/repositories/default-branch.ts";
import { fileNamesOn } from "#domains/storage/repositories/file-names.ts";
import { type OwnedLocation, ONLY_BRANCH } from "#domains/storage/repositories/location.ts";
import type { Content } from "#domains/storage/repositories/maintenance.ts";
import { readmeAfter } from "#domains/storage/repositories/readme.ts";
import type { Intent } from "./intents.ts";

/** The result of a push in its repository. */
export interface Outcome {
  readonly intent: Intent;
  readonly repository: Repository;
  /** The changes that git made. */
  readonly done: readonly RefChange[];
}

/** What a push means for what its repository belongs to. */
interface Recorder {
  readonly content: Content;
  /** Writes what happened, while the row of the repository is locked. */
  write(tx: Tx, recording: Recording): Promise<void>;
}

interface Recording {
  /** Whether nothing of it can be recorded yet. */
  readonly choice: "all" | "unrecorded";
  /** Whether the intent was still there, so that nobody else has recorded all of it. */
  readonly isFirst: boolean;
}

export async function recorderOf(location: OwnedLocation, outcome: Outcome): Promise<Recorder> {
  const { project_id, snippet_id } = location;
  if (project_id !== null) return recorderOfProject({ ...location, project_id }, outcome);
  return snippet_id === null ? recorderOfWiki(outcome) : recorderOfSnippet(snippet_id, outcome);
}

async function recorderOfProject(
  location: OwnedLocation & { readonly project_id: number },
  { intent, repository, done }: Outcome,
): Promise<Recorder> {
  const { project_id, default_branch } = location;
  const events = await describePush(repository, default_branch, done);
  const branch = await newDefaultBranch(repository, default_branch, done);
  return {
    // A tree that is too large to read must not keep the push from being recorded.
    content: { readme: await readmeAfter(repository, branch ?? default_branch, done).catch(() => undefined) },
    async write(tx, { choice }) {
      const by = { project_id, author_id: intent.user_id ?? (await ghostUser(tx)), key_id: intent.key_id };
      const due = choice === "all" ? events : await unrecorded(tx, project_id, intent.created_at, events);
      await recordPush(tx, by, due);
      if (due.length > 0 && intent.audit) await insertAudit(tx, intent.audit);
      await projectActivity(project_id).execute(tx);
      if (branch !== undefined) await adoptDefaultBranch(tx, repository, location, branch);
    },
  };
}

/** The audit event says it all. */
const recorderOfWiki = ({ intent }: Outcome): Recorder => ({
  content: {},
  async write(tx, { isFirst }) {
    if (isFirst && intent.audit) await insertAudit(tx, intent.audit);
  },
});

const recorderOfSnippet = (snippetId: number, { intent, repository }: Outcome): Recorder => ({
  content: {},
  async write(tx, { isFirst }) {
    if (isFirst && intent.audit) await insertAudit(tx, intent.audit);
    await sql`update snippets set updated_at = now() where id = ${snippetId}`.execute(tx);
    // Read under the lock, so that of concurrent pushes the last one stores what all of them left.
    const names = await fileNamesOn(repository, ONLY_BRANCH).catch(() => undefined);
    if (names) await sql`update repositories set file_names = ${names} where snippet_id = ${snippetId}`.execute(tx);
  },
});
