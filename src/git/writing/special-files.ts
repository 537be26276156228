/** The longest attributes line that git reads. */
const MAX_LINE_BYTES = 2048;
const MAX_BYTES = 1024 * 1024;

const SECTION = /^\[submodule "(?<name>[\w./@+ -]+)"\]$/;
const SETTING = /^(?<key>[a-zA-Z][a-zA-Z-]*)\s*=\s*(?<value>[^"\\;#\p{Cc}]*)$/u;

const FULL_URL = /^\w+:\/\/(?:[\w.:-]+@)?[\w.-]+(?::\d+)?\/[\w./~+@-]*$/;

/** Returns why a commit may not write this content to a file that git itself reads, or undefined. */
export function contentProblem(path: string, content: Buffer): string | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (!isReadByGit(name)) return undefined;
  if (content.length > MAX_BYTES) return "is too large";
  const lines = content.toString("utf8").split("\n");
  if (name === ".gitmodules") return modulesProblem(lines);
  return lines.some((line) => Buffer.byteLength(line) >= MAX_LINE_BYTES) ? "has a line that is too long" : undefined;
}

/** Whether git checks the content of files with this name. */
export const isReadByGit = (path: string) => /(?:^|\/)\.git(?:modules|attributes)$/.test(path);

/**
 * Submodules have been a way to run commands on the machine of whoever clones. Only plainly harmless content is accepted;
 * the finer points of the format need git's own parser, and thus a push.
 */
function modulesProblem(lines: readonly string[]): string | undefined {
  let inSection = false;
  for (const line of lines.map((line) => line.trim())) {
    if (line === "" || line.startsWith("#") || line.startsWith(";")) continue;
    const section = SECTION.exec(line)?.groups?.["name"];
    if (section !== undefined) {
      if (section.split("/").includes("..")) return "names a submodule outside of the repository";
      inSection = true;
      continue;
    }
    const { key = "", value = "" } = SETTING.exec(line)?.groups ?? {};
    if (key === "" || !inSection) return "is not in the plain form that can be written here";
    const problem = settingProblem(key.toLowerCase(), value);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function settingProblem(key: string, value: string): string | undefined {
  if (value.startsWith("-")) return "has a value that git could take for an option";
  if (key === "update" && value.startsWith("!")) return "would run a command";
  if (key === "url" && !isPlainUrl(value)) return "has an address that cannot be written here";
  return undefined;
}

/** Whether a URL is relative, has the scheme `http`, `https`, `git` or `ssh`, or is in the scp-like form of ssh. */
function isPlainUrl(url: string): boolean {
  if (/%0a/i.test(url) || url.includes("::")) return false;
  if (/^\.{1,2}\//.test(url)) return !/^(?:\.{1,2}\/)+[:/]/.test(url);
  if (/^(?:https?|ssh|git):\/\//.test(url)) return FULL_URL.test(url) && URL.canParse(url);
  return /^[\w.-]+@[\w.-]+:[^:]+$/.test(url);
}
