/** Names of the documents beside the ones by which unmodified clients know the same thing. Both are served. */
export const ORIGINAL_NAMES = {
  jobqueue: "sidekiq",
  tracker_dsn: "sentry_dsn",
  tracker_external_url: "sentry_external_url",
  platform_environment_name: "gitlab_environment_name",
} as const;
