import { type RawBuilder, sql } from "kysely";
import type { Tx } from "#db/database.ts";

/** What a move is on the wire; `initial` is never shown, since a move is scheduled in the transaction that creates it. */
export const MOVE_STATES = [
  "initial",
  "scheduled",
  "started",
  "replicated",
  "finished",
  "failed",
  "cleanup failed",
] as const;
export type MoveState = (typeof MOVE_STATES)[number];

/** The states from which each state is reached. */
const REACHED_FROM: Readonly<Record<Exclude<MoveState, "initial" | "scheduled">, readonly MoveState[]>> = {
  // From itself when another attempt takes over a move whose worker died.
  started: ["scheduled", "started"],
  replicated: ["started"],
  finished: ["replicated", "cleanup failed"],
  failed: ["scheduled", "started"],
  "cleanup failed": ["replicated", "cleanup failed"],
};

/** Changes the state and other columns of a move; returns false if the move is in no state that allows it. */
export async function changeState(
  tx: Tx,
  id: number,
  state: keyof typeof REACHED_FROM,
  columns: RawBuilder<unknown>,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update repository_storage_moves set state = ${state}, ${columns}
    where id = ${id} and state = any(${REACHED_FROM[state]}::text[])`.execute(tx);
  return numAffectedRows === 1n;
}
