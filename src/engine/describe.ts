/**
 * Describes any thrown value as bounded text. Never throws, although a value thrown by a rule may itself throw when it
 * is inspected.
 */
export const describe = (cause: unknown): string => {
  try {
    return (cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)).slice(0, 500)
  } catch {
    return "what was thrown has no text"
  }
}
