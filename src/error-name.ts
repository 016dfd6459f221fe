/** The name of whatever was thrown: never its message, which may quote what a person wrote. */
export function errorName(error: unknown): string {
  return error instanceof Error ? error.name : typeof error
}
