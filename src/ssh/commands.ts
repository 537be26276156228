/** What a client of git may ask for over SSH. */
export interface GitCommand {
  readonly service: "upload-pack" | "receive-pack";
  /** The full path of a project, without `.git`. */
  readonly path: string;
}

// As git and JGit write them: the path in single quotes, or bare where it has nothing that a shell would see.
const COMMAND = /^git[- ](upload-pack|receive-pack) (?:'((?:[^'\\]|'\\[!']')*)'|([\w./-]+))$/;
const ESCAPED = /'\\([!'])'/g;
const MOST_CHARACTERS = 4096;

/** Reads the one sentence that is understood; nothing of it ever reaches a shell. */
export function readGitCommand(text: string): GitCommand | undefined {
  if (text.length > MOST_CHARACTERS) return undefined;
  const [, service, quoted, bare] = COMMAND.exec(text) ?? [];
  if (service === undefined) return undefined;
  const written = quoted === undefined ? bare : quoted.replaceAll(ESCAPED, "$1");
  const path = written
    ?.replace(/^\//, "")
    .replace(/\/$/, "")
    .replace(/\.git$/, "");
  return path ? { service: service as GitCommand["service"], path } : undefined;
}
