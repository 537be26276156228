import { badFields } from "./refusal.ts";

/** What is wrong with what a caller wants to store, by field; all of it is told at once. */
export type Problems = Record<string, string[]>;

export function refuse(problems: Problems, field: string, ...texts: string[]) {
  if (texts.length > 0) problems[field] = [...(problems[field] ?? []), ...texts];
}

export function tooLong(problems: Problems, field: string, text: string, most: number) {
  if ([...text].length > most) refuse(problems, field, `is too long (maximum is ${most} characters)`);
}

export function throwProblems(problems: Problems) {
  if (Object.keys(problems).length > 0) throw badFields(problems);
}
