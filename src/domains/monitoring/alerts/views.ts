import type { Static } from "typebox";
import type { Db } from "#db/database.ts";
import { usersById, type UsersById } from "#domains/identity/users/summaries.ts";
import { pathsOf } from "#domains/planning/issues/views.ts";
import { type Alert, type AlertDetails, presentAlert } from "./entity.ts";
import { detailsOf } from "./payload.ts";
import { type AlertRow, contentOf } from "./queries.ts";
import { newestChanges, presentChange } from "./timeline.ts";

interface AlertViewer {
  readonly site: string;
  /** The project that the alerts are in. */
  readonly project: { readonly id: number };
}

/** Presents alerts in the order of the rows with a constant number of statements. */
export async function alertViews(
  db: Db,
  rows: readonly AlertRow[],
  viewer: AlertViewer,
): Promise<Static<typeof Alert>[]> {
  if (rows.length === 0) return [];
  const users = await usersById(
    db,
    rows.map(({ assignee_id }) => assignee_id),
    viewer.site,
  );
  return presentAll(db, rows, users, viewer);
}

async function presentAll(db: Db, rows: readonly AlertRow[], users: UsersById, { site, project }: AlertViewer) {
  const path = (await pathsOf(db, [project.id])).projects.get(project.id) ?? "";
  return rows.map((row) => presentAlert(row, { site, path, assignee: users.get(row.assignee_id) }));
}

/** Presents one alert with its payload and its timeline. */
export async function alertView(
  db: Db,
  row: AlertRow,
  viewer: AlertViewer & { reserveMemory(bytes: number): void },
): Promise<Static<typeof AlertDetails>> {
  const content = await contentOf(db, row.id);
  // The table of its values repeats a part of it.
  viewer.reserveMemory(2 * content.payload.length);
  const changes = await newestChanges(db, row.id);
  const people = changes.flatMap(({ user_id, assignee_id }) => [user_id, assignee_id]);
  const users = await usersById(db, [row.assignee_id, ...people], viewer.site);
  const [view] = await presentAll(db, [row], users, viewer);
  const payload: unknown = JSON.parse(content.payload);
  return {
    ...view!,
    payload,
    details: detailsOf(payload),
    grouped_by: content.grouped_by as Record<string, unknown>,
    timeline: changes.map(presentChange(users)),
  };
}
