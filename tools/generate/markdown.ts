/** A Markdown table; a bar inside a cell does not end it. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", String.raw`\|`)).join(" | ")} |\n`;
  return [line(headings), line(headings.map(() => "---")), ...rows.map(line)].join("");
}
