/** The domain of addresses that we give out ourselves and nobody reads. */
export const noreplyDomain = (externalUrl: string | undefined): string =>
  `noreply.${(externalUrl === undefined ? undefined : URL.parse(externalUrl)?.hostname) ?? "localhost"}`;

/** Whether an address is one of ours to give: nobody may choose it, or they could take what another is to have. */
export function isNoreply(email: string, externalUrl: string | undefined): boolean {
  const domain = email.slice(email.lastIndexOf("@") + 1).toLowerCase();
  const own = noreplyDomain(externalUrl);
  return domain === own || domain.endsWith(`.${own}`);
}
