/**
 * Sends requests to the API that the console was loaded from. Paths, parameters and answers have the types of the API's
 * own description, which is not part of the bundle. Every request has a deadline, and the header that the session's
 * cookie needs.
 */
import type { Answer, CallInput, Method, PathOf } from "./endpoints.ts"
import { chosenMode, sessionEnded } from "./session.ts"

export type { Answer, CallInput, Method, PathOf } from "./endpoints.ts"

/** An answer that is an error, or no answer. */
export class ApiError extends Error {
  /** The HTTP status; 0 without an answer. */
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

const deadlineMillis = 20_000

/** The header that no page of another site can send. Its value is the mode of a member's session. */
export const consoleHeaders = (): Readonly<Record<string, string>> => ({ "x-sluice-console": chosenMode.value })

const addressOf = (
  path: string,
  { params = {}, query = {} }: Pick<CallInput<"GET", PathOf<"GET">>, "params" | "query">
): string => {
  const filled = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(params[name] ?? "")))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (typeof value === "object") for (const one of value) search.append(name, one)
    else if (value !== undefined && value !== "") search.append(name, String(value))
  }
  const text = search.toString()
  return text === "" ? filled : `${filled}?${text}`
}

interface ErrorBody {
  readonly error?: string | { readonly code?: string; readonly message?: string }
  readonly message?: string
}

/** The error in whichever of the API's shapes. */
const errorOf = (status: number, text: string): ApiError => {
  let body: ErrorBody = {}
  try {
    body = JSON.parse(text) as ErrorBody
  } catch {
    // A proxy in between has answered.
  }
  const { error } = body
  const code = typeof error === "object" ? (error.code ?? "error") : (error ?? `http_${status}`)
  const message = (typeof error === "object" ? error.message : undefined) ?? body.message ?? code
  return new ApiError(status, code, message === `http_${status}` ? `The server answered ${status}.` : message)
}

const send = async (method: Method, path: string, given: CallInput<Method, never>): Promise<string> => {
  const init: RequestInit = {
    method,
    headers: given.body === undefined ? consoleHeaders() : { ...consoleHeaders(), "content-type": "application/json" },
    credentials: "same-origin",
    signal: AbortSignal.timeout(deadlineMillis),
    ...(given.body === undefined ? {} : { body: JSON.stringify(given.body) })
  }
  let response: Response
  try {
    response = await fetch(addressOf(path, given), init)
  } catch (cause) {
    const isLate = cause instanceof DOMException && cause.name === "TimeoutError"
    throw new ApiError(
      0,
      isLate ? "timeout" : "unreachable",
      isLate ? "No answer in time." : "The platform cannot be reached."
    )
  }
  const text = await response.text()
  if (response.ok) return text
  const error = errorOf(response.status, text)
  if (error.status === 401 && !path.endsWith("/sessions")) sessionEnded()
  throw error
}

/** Asks the API. Rejects with an `ApiError`. */
export const ask = async <M extends Method, const P extends PathOf<M>>(
  method: M,
  path: P,
  given: CallInput<M, P> = {}
): Promise<Answer<M, P>> => {
  const text = await send(method, path, given as unknown as CallInput<Method, never>)
  // The platform answers as its API describes.
  return (text === "" ? undefined : JSON.parse(text)) as Answer<M, P>
}

export const get = <const P extends PathOf<"GET">>(
  path: P,
  given: CallInput<"GET", P> = {}
): Promise<Answer<"GET", P>> => ask("GET", path, given)

/** A key by which a repeat of the same request is known. */
export const post = <const P extends PathOf<"POST">>(
  path: P,
  given: CallInput<"POST", P> = {}
): Promise<Answer<"POST", P>> => ask("POST", path, given)

/** Answers an error in words. */
export const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
