import { type EpicGroup, epicsOn } from "#domains/planning/epics/test-support.ts";
import { accepted, type IssueProject, issuesApp } from "#domains/planning/issues/test-support.ts";
import type { TestUser } from "#test/support/app.ts";

/** An application, and functions that create issues and epics in it and comment on them. */
export async function notesApp(databaseUrl?: string) {
  const on = await issuesApp(databaseUrl);
  const epics = epicsOn(on.app);
  return {
    ...on,
    epics,
    /** The path of an issue of the project. */
    async issue(at: IssueProject, payload: object = {}, user?: TestUser): Promise<string> {
      return `${at.issues}/${(await on.create(at, payload, user)).iid}`;
    },
    async epic(at: EpicGroup, payload: object = {}): Promise<string> {
      return `${at.epics}/${(await epics.created(at, payload)).id}`;
    },
    comment: (item: string, { token }: TestUser, payload: object = {}) =>
      on.app.post(`${item}/notes`, { token, payload: { body: "Mind the tide", ...payload } }),
    /** Comments and returns the note. */
    async commented(item: string, { token }: TestUser, payload: object = {}) {
      return accepted(
        await on.app.post(`${item}/notes`, { token, payload: { body: "Mind the tide", ...payload } }),
        201,
      );
    },
    bodies: async (path: string, user?: TestUser): Promise<string[]> =>
      accepted(await on.app.get(path, { token: user?.token }), 200).map(({ body }: { body: string }) => body),
  };
}

export type NotesApp = Awaited<ReturnType<typeof notesApp>>;
