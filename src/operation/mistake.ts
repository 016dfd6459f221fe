/**
 * An author's mistake in a definition: a key used twice, an end without a commit, values that no state can carry. Its
 * message holds names that the author gave, and no value, so it may stand in a log.
 */
export class DefinitionError extends Error {
  override readonly name = "DefinitionError"
}
