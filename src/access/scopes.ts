/** Every scope that a token may carry; those without a feature yet are accepted so that clients can ask for them. */
export const SCOPES = [
  "api",
  "read_api",
  "read_user",
  "read_repository",
  "write_repository",
  "read_registry",
  "write_registry",
  "read_virtual_registry",
  "write_virtual_registry",
  "create_runner",
  "manage_runner",
  "ai_features",
  "k8s_proxy",
  "self_rotate",
  "read_service_ping",
  "sudo",
  "admin_mode",
  "read_observability",
  "write_observability",
] as const;

export type Scope = (typeof SCOPES)[number];

/** Scopes that only an administrator's token may carry. */
export const ADMINISTRATOR_SCOPES: readonly Scope[] = ["sudo", "admin_mode"];
