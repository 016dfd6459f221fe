/**
 * The name of whatever was thrown, for a log: never its message, which may quote what a person wrote, and only a name that
 * looks like one.
 */
export function errorName(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  return /^[A-Z][A-Za-z]{0,63}$/.test(error.name) ? error.name : "Error"
}
