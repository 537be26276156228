import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";

/** Names that were replaced by the words of docs/glossary.md. The check fails if one of them comes back. */
interface Banned {
  readonly pattern: RegExp;
  readonly instead: string;
}

/** Names that can only mean the renamed thing: refused anywhere. */
const ANYWHERE: readonly Banned[] = [
  { pattern: /\bkeptAnswers?\b|\bKeptAnswer\b|\bkept-answers\b|\bkeepsAnswer\b/, instead: "idempotency, idempotent" },
  { pattern: /\btakePlace\b|\bwhoRepeats\b|\banswerAgain\b/, instead: "claimKey, findReplay" },
  { pattern: /\bFARTHEST\b|\bhitsOf\b|\bHits\b/, instead: "MAX_OFFSET, candidates" },
  { pattern: /\bPiece\b|\bvisible(?:Group)?(?:Pieces|Parts)\b/, instead: "Source" },
  {
    pattern: /\bsettling\.ts\b|\bclaimLeft\b|\bLeftIntent\b|\bletGo\b/,
    instead: "reconcile.ts, claimOrphaned, releaseLease",
  },
  { pattern: /\b(?:hold|leave|take)Intent\b/, instead: "createIntent, abandonIntent, finishIntent" },
  { pattern: /\bopening\.ts\b|\bopenByPath\b|\bOpened\b/, instead: "authorize.ts, authorizeByPath, RepositoryAccess" },
  {
    pattern: /\bremains\.ts\b|\buserLeaving\b|\bcutSomeTies\b|\bremoveSome[A-Z]\w*/,
    instead: "user-deletion.ts, deletingUser, removeBatchOf…",
  },
  {
    pattern: /\b(?:patience|by-hand|turns|young-garbage)\.ts\b/,
    instead: "timeouts.ts, raw-responses.ts, semaphore.ts, gc.ts",
  },
  { pattern: /\bComer\b|\bGitCaller\b|\bSomebody\b(?=\s*[|,;)>&{=]|\["])/, instead: "Principal and its members" },
  { pattern: /\bendWhatOldOpened\b/, instead: "invalidateCredentials" },
  { pattern: /\b(?:MOST|LONGEST|LEAST|SHORTEST)(?:_[A-Z_]+)?\b/, instead: "MAX_… or MIN_… with its unit" },
];

/** Ordinary words that once named a function, type or constant; local variables may have them. */
const DECLARED =
  /^(?:export )?(?:async )?(?:const|let|function|type|interface|class) (told|tell|untold|settle|hits|walked|whole|Part|First|Place|Wanted|Asked|Found|Making|Changing|Writing|EVERY|KEPT|REST|SELDOM)\b/;

const PHRASES: readonly Banned[] = [
  { pattern: /\baddress(?:es)? of before\b/i, instead: "previous path" },
  { pattern: /\bput away\b/i, instead: "archived" },
  { pattern: /\bpag(?:e|ed|es|ing) by number\b|\bby number\b/i, instead: "offset paging" },
  { pattern: /\bpag(?:e|ed|es|ing) by position\b|\bby position\b/i, instead: "keyset paging" },
  { pattern: /\b(?:somebody|user|person)'s own place\b/i, instead: "personal namespace" },
];

/** The banned names in a file, each with its line and what to say instead. */
export function bannedWords(path: string, text: string): string[] {
  const rules = [...ANYWHERE, ...PHRASES];
  const inName = ANYWHERE.filter(({ pattern }) => pattern.test(basename(path)));
  const inLines = text.split("\n").flatMap((line, at) => {
    const declared = DECLARED.exec(line)?.[1];
    return [
      ...rules.flatMap(({ pattern, instead }) => {
        const word = pattern.exec(line)?.[0];
        return word === undefined ? [] : [`${path}:${at + 1} says ${word}: use ${instead}`];
      }),
      ...(declared === undefined ? [] : [`${path}:${at + 1} declares ${declared}: use the noun of what it is`]),
    ];
  });
  return [...inName.map(({ instead }) => `${path} has a retired name: use ${instead}`), ...inLines];
}

if (import.meta.main) {
  const root = join(import.meta.dirname, "..");
  const files = execFileSync("git", ["ls-files", "-z", "src", "test", "bench", "tools", "docs/*.md", "*.md"], {
    cwd: root,
  })
    .toString()
    .split("\0")
    .filter(
      (path) => /\.(?:ts|md)$/.test(path) && !/^(?:tools\/words|test\/words\.test)\.ts$|CHANGELOG\.md$/.test(path),
    );
  const problems = files.flatMap((path) => bannedWords(path, readFileSync(join(root, path), "utf8")));
  for (const problem of problems) console.log(problem);
  if (problems.length > 0) process.exitCode = 1;
}
