import type { Constraints } from "#db/errors.ts";
import { badFields, badRequest, conflict, missing } from "#lib/refusal.ts";

export const identityConstraints: Constraints = {
  users_username_taken: () => conflict("Username has already been taken"),
  users_email_taken: () => conflict("Email has already been taken"),
  users_public_email_taken: () => badFields({ public_email: ["has already been taken"] }),
  emails_email_taken: () => conflict("Email has already been taken"),
  identities_extern_uid_taken: () => badFields({ "identities.extern_uid": ["has already been taken"] }),
  identities_one_a_provider: () => badFields({ "identities.provider": ["has already been taken"] }),
  keys_fingerprint_taken: () => badFields({ fingerprint_sha256: ["has already been taken"] }),
  // Another request rotated the token first.
  personal_access_tokens_previous: () => badRequest("Token already revoked"),
  // Another request deleted the referenced row.
  keys_user_id_fkey: () => missing("User"),
  emails_user_id_fkey: () => missing("User"),
  identities_user_id_fkey: () => missing("User"),
  personal_access_tokens_user_id_fkey: () => missing("User"),
  sessions_user_id_fkey: () => missing("User"),
  second_factors_user_id_fkey: () => missing("User"),
  user_custom_attributes_user_id_fkey: () => missing("User"),
  user_statuses_user_id_fkey: () => missing("User"),
  users_created_by_id_fkey: () => missing("User"),
};
