import Type from "typebox";
import { auditedForOthers, endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { type ItemResource, writableItem } from "#domains/conversation/items/resource.ts";
import { singleNoteEndpoints } from "#domains/conversation/notes/endpoints.ts";
import { Note } from "#domains/conversation/notes/entity.ts";
import { noteDraft } from "#domains/conversation/notes/params.ts";
import { notes } from "#domains/conversation/notes/queries.ts";
import { noteView } from "#domains/conversation/notes/views.ts";
import { beginDiscussion, replyIn } from "./actions.ts";
import { Discussion } from "./entity.ts";
import { discussion, reply } from "./params.ts";
import { discussionsOf, listDiscussions, noteIn, PAGING, requireDiscussion } from "./queries.ts";
import { discussionView, discussionViews } from "./views.ts";

/** The endpoints for the discussions of items of one kind. */
export function discussionEndpoints(kind: ItemResource) {
  const { get, update, delete: remove } = singleNoteEndpoints(notesOfDiscussions(kind));
  return { ...ofDiscussions(kind), ...replies(kind), getNote: get, updateNote: update, deleteNote: remove };
}

/** Items as they are found by a note in one of their discussions. */
const notesOfDiscussions = ({ path, one, params, find, ...kind }: ItemResource): ItemResource => ({
  ...kind,
  path: `${path}/discussions/:discussion_id`,
  one: `a discussion of ${one}`,
  params: Type.Object({ ...params.properties, ...discussion }),
  async find(db, seen, names: Record<string, unknown>) {
    const of = await find(db, seen, names);
    noteIn(await requireDiscussion(db, of, String(names["discussion_id"])), Number(names["note_id"]));
    return of;
  },
});

function ofDiscussions(kind: ItemResource) {
  const { path, one, availability, reader, writer } = kind;
  const ofItem = kind.params.properties;
  const ofDiscussion = { ...ofItem, ...discussion };
  return {
    list: endpoint({
      method: "GET",
      path: `${path}/discussions`,
      summary: `List the discussions of ${one}, each with its notes`,
      ...availability,
      access: reader,
      params: kind.params,
      returns: pageOf(Discussion, PAGING),
      async handle({ db, page, params, ...seen }) {
        const of = await kind.find(db, seen, params);
        const firsts = await page.rows(notes(db), listDiscussions(of));
        return discussionViews(db, await discussionsOf(db, of, firsts), of, seen);
      },
    }),

    get: endpoint({
      method: "GET",
      path: `${path}/discussions/:discussion_id`,
      summary: `Get a discussion of ${one}`,
      ...availability,
      access: reader,
      params: Type.Object(ofDiscussion),
      returns: Discussion,
      async handle({ db, params, ...seen }) {
        const of = await kind.find(db, seen, params);
        return discussionView(db, await requireDiscussion(db, of, params.discussion_id), of, seen);
      },
    }),

    create: endpoint({
      method: "POST",
      path: `${path}/discussions`,
      summary: `Begin a discussion on ${one}`,
      ...availability,
      access: writer,
      params: Type.Object({ ...ofItem, ...noteDraft }),
      returns: Discussion,
      audit: auditedForOthers("discussion_created"),
      async handle({ site, ...write }) {
        const of = await writableItem(kind, write.tx, write);
        return discussionView(write.tx, [await beginDiscussion(write, of, write.params)], of, { site });
      },
    }),
  };
}

function replies(kind: ItemResource) {
  const { path, one, availability, writer } = kind;
  return {
    reply: endpoint({
      method: "POST",
      path: `${path}/discussions/:discussion_id/notes`,
      summary: `Reply in a discussion of ${one}`,
      ...availability,
      access: writer,
      params: Type.Object({ ...kind.params.properties, ...discussion, ...reply }),
      returns: Note,
      audit: auditedForOthers("note_created"),
      async handle({ site, ...write }) {
        const of = await writableItem(kind, write.tx, write);
        return noteView(write.tx, await replyIn(write, of, write.params), of, { site });
      },
    }),
  };
}
