/** First words of API paths that unmodified clients use, and ours for the same. */
const ORIGINAL_PATHS: Readonly<Record<string, string>> = { sidekiq: "jobqueue" };

const ORIGINAL = new RegExp(`^/api/v4/(${Object.keys(ORIGINAL_PATHS).join("|")})(?=/)`);

/** An API path by our name for it. */
export const ourPath = (path: string): string =>
  path.replace(ORIGINAL, (_, original: string) => `/api/v4/${ORIGINAL_PATHS[original]}`);

/** How the headers begin by which unmodified clients are told of a file without its content. */
export const FILE_HEADER = "x-gitlab-";
