const DIGITS = 40;

/** The id of a discussion, by that of the note that began it. */
export const discussionIdOf = (noteId: number): string => noteId.toString(16).padStart(DIGITS, "0");

/** The note that began a discussion, by its id; undefined if no discussion can have that id. */
export function firstNoteOf(discussionId: string): number | undefined {
  const id = /^[0-9a-f]{40}$/.test(discussionId) ? Number(`0x${discussionId}`) : Number.NaN;
  return Number.isSafeInteger(id) ? id : undefined;
}
