/** The domain of the no-reply addresses that the server assigns; the same for every request, whatever host it names. */
export const noreplyDomain = (externalUrl: string | undefined): string =>
  `noreply.${(externalUrl === undefined ? undefined : URL.parse(externalUrl)?.hostname) ?? "localhost"}`;

/** The address for commits of a user who hides their own. */
export const privateCommitEmail = (
  { id, username }: { readonly id: number; readonly username: string },
  externalUrl: string | undefined,
): string => `${id}-${username}@users.${noreplyDomain(externalUrl)}`;

/** Whether the server assigns addresses of this form; users may not choose one, since it could belong to another user. */
export function isNoreply(email: string, externalUrl: string | undefined): boolean {
  const domain = email.slice(email.lastIndexOf("@") + 1).toLowerCase();
  const own = noreplyDomain(externalUrl);
  return domain === own || domain.endsWith(`.${own}`);
}
