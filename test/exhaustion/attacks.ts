import type { Attack } from "./attack.ts";
import { API_ATTACKS } from "./api-attacks.ts";
import { MAIL_ATTACKS } from "./mail-attacks.ts";
import { REPOSITORY_ATTACKS } from "./repository-attacks.ts";

export const ATTACKS: readonly Attack[] = [...REPOSITORY_ATTACKS, ...API_ATTACKS, ...MAIL_ATTACKS];
