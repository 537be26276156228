/** The image of a user without an avatar: the first letter of the name on a colour that the id determines. */
export function defaultAvatar(id: number, name: string): string {
  const letter = [...name.trim()][0]?.toUpperCase() ?? "?";
  const text = /[\p{L}\p{N}]/u.test(letter) ? letter : "?";
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 80 80"><rect width="80" height="80" fill="hsl(${(id * 137) % 360} 45% 45%)"/>` +
    `<text x="40" y="54" font-family="sans-serif" font-size="40" fill="#fff" text-anchor="middle">${text}</text></svg>`
  );
}
