/** Whether a name is valid for a branch, by the rules of `git check-ref-format --branch`. */
export const isBranchName = (name: string) =>
  // oxlint-disable-next-line no-control-regex -- git refuses control characters
  !/[\u0000- \u007F~^:?*[\\]|\.\.|@\{|\/\/|(?:^|\/)\.|^[-/]|\.lock(?:\/|$)|[./]$|^(?:@|HEAD)$/.test(name);
