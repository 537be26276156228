/** The commands that a git client may run over SSH. */
export interface GitCommand {
  readonly service: "upload-pack" | "receive-pack";
  /** The full path of a project, without `.git`. */
  readonly path: string;
}

// As git and JGit write them: the path in single quotes, or bare if it has no characters special to a shell.
const COMMAND = /^git[- ](upload-pack|receive-pack) (?:'((?:[^'\\]|'\\[!']')*)'|([\w./-]+))$/;
const ESCAPED = /'\\([!'])'/g;
const MAX_LENGTH = 4096;

/** Parses the only accepted command; no part of it ever reaches a shell. */
export function readGitCommand(text: string): GitCommand | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const [, service, quoted, bare] = COMMAND.exec(text) ?? [];
  if (service === undefined) return undefined;
  const written = quoted === undefined ? bare : quoted.replaceAll(ESCAPED, "$1");
  const path = written
    ?.replace(/^\//, "")
    .replace(/\/$/, "")
    .replace(/\.git$/, "");
  return path ? { service: service as GitCommand["service"], path } : undefined;
}
