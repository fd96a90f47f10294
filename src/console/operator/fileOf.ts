/**
 * Fetches a file with the session's header, which a plain link cannot send, and answers an address of it within the
 * browser. The browser forgets it with the page.
 */
import { ApiError, consoleHeaders } from "../api.ts"
import { sessionEnded } from "../session.ts"

const deadlineMillis = 20_000

export const fileOf = async (path: string): Promise<string> => {
  const response = await fetch(path, {
    headers: consoleHeaders(),
    credentials: "same-origin",
    signal: AbortSignal.timeout(deadlineMillis)
  }).catch(() => {
    throw new ApiError(0, "unreachable", "The platform cannot be reached.")
  })
  if (response.ok) return URL.createObjectURL(await response.blob())
  if (response.status === 401) sessionEnded()
  const body = (await response.json().catch(() => ({}))) as { readonly error?: { readonly message?: string } }
  throw new ApiError(response.status, "failed", body.error?.message ?? `The server answered ${response.status}.`)
}
