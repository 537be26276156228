/** An issue or an epic, by the column that names it. */
export interface Item {
  readonly column: "issue_id" | "epic_id";
  readonly id: number;
}
