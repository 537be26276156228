import { badFields } from "./refusal.ts";

/** Validation errors by field; a refusal reports all of them together. */
export type Problems = Record<string, string[]>;

export function refuse(problems: Problems, field: string, ...messages: string[]) {
  if (messages.length > 0) problems[field] = [...(problems[field] ?? []), ...messages];
}

export function checkLength(problems: Problems, field: string, text: string, maxLength: number) {
  if ([...text].length > maxLength) refuse(problems, field, `is too long (maximum is ${maxLength} characters)`);
}

export function throwProblems(problems: Problems) {
  if (Object.keys(problems).length > 0) throw badFields(problems);
}
