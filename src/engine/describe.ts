/**
 * The text of whatever was thrown, bounded. Never throws, although what a rule threw may itself throw when it is
 * inspected.
 */
export const describe = (cause: unknown): string => {
  try {
    return (cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)).slice(0, 500)
  } catch {
    return "what was thrown has no text"
  }
}
