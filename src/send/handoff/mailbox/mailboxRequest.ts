/** Reads requests for the local mailbox (docs/handoff.md, 3.1): whom it answers, and the parameters of the query. Pure. */
import { Data, Result } from "effect"
import { type MailTerm, parseMailQuery } from "./mailSearch.ts"

/** A request that is answered 400. The message is for its writer. */
export class RequestRefused extends Data.TaggedError("RequestRefused")<{ readonly message: string }> {}

const refused = (message: string) => Result.fail(new RequestRefused({ message }))

/** Most mails that a page of the list has, and how many it has by default. */
export const maximumPage = 500
const defaultPage = 50

/** Most ids of one request, as many as there are mails. */
const maximumIds = 500

/** Longest wait for a mail, in seconds: a little less than a read may take. */
export const maximumWaitSeconds = 9

const loopback = /^(?:localhost|[\w-]+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i

/**
 * Whether a request may be answered. A page of another site can make a browser on this machine send requests, and can
 * give its own name this machine's address: so the host must be a name of this machine, or the platform's public one,
 * and whatever changes something comes from a page of the same host or from no page.
 */
export const isOwnRequest = (
  method: string,
  headers: Readonly<Record<string, string | undefined>>,
  publicHost: string | undefined
): boolean => {
  const { host } = headers
  if (host !== undefined && !loopback.test(host) && host.toLowerCase() !== publicHost?.toLowerCase()) return false
  if (method === "GET" || method === "HEAD") return true
  const site = headers["sec-fetch-site"]
  if (site !== undefined && site !== "same-origin" && site !== "none") return false
  const { origin } = headers
  return origin === undefined || URL.parse(origin)?.host === host?.toLowerCase()
}

/** Refuses parameters that mean nothing here, and those that may come once and come twice. */
const checkNames = (query: URLSearchParams, allowed: ReadonlyArray<string>): Result.Result<void, RequestRefused> => {
  for (const name of query.keys()) {
    if (!allowed.includes(name))
      return refused(`There is no parameter '${name}' here; there are ${allowed.join(", ")}.`)
    if (name !== "id" && query.getAll(name).length > 1) return refused(`The parameter '${name}' comes twice.`)
  }
  return Result.succeed(undefined)
}

const termsOf = (query: URLSearchParams): Result.Result<ReadonlyArray<MailTerm>, RequestRefused> =>
  Result.mapError(parseMailQuery(query.get("q") ?? ""), ({ message }) => new RequestRefused({ message }))

const wholeNumber = (
  query: URLSearchParams,
  name: string,
  [least, most, fallback]: readonly [number, number, number]
): Result.Result<number, RequestRefused> => {
  const given = query.get(name)
  if (given === null) return Result.succeed(fallback)
  const value = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN
  return value >= least && value <= most
    ? Result.succeed(value)
    : refused(`The parameter '${name}' takes a whole number from ${least} to ${most}.`)
}

const flag = (query: URLSearchParams, name: string): Result.Result<boolean | undefined, RequestRefused> => {
  const given = query.get(name)
  if (given === null) return Result.succeed(undefined)
  return given === "true" || given === "false"
    ? Result.succeed(given === "true")
    : refused(`The parameter '${name}' takes true or false.`)
}

export interface ListRequest {
  readonly terms: ReadonlyArray<MailTerm>
  readonly limit: number
  /** Only mails with a smaller number. */
  readonly cursor: number
}

export const readList = (query: URLSearchParams): Result.Result<ListRequest, RequestRefused> =>
  Result.gen(function* () {
    yield* checkNames(query, ["q", "limit", "cursor"])
    return {
      terms: yield* termsOf(query),
      limit: yield* wholeNumber(query, "limit", [1, maximumPage, defaultPage]),
      cursor: yield* wholeNumber(query, "cursor", [1, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER])
    }
  })

export interface LatestRequest {
  readonly terms: ReadonlyArray<MailTerm>
  /** Unix milliseconds; only mails that were kept then or later. */
  readonly since: number
  readonly waitMillis: number
}

export const readLatest = (query: URLSearchParams): Result.Result<LatestRequest, RequestRefused> =>
  Result.gen(function* () {
    yield* checkNames(query, ["q", "since", "wait"])
    const given = query.get("since")
    const since = given === null ? 0 : Date.parse(given)
    if (Number.isNaN(since)) return yield* refused("The parameter 'since' takes a time such as 2026-11-28T09:30:00Z.")
    const seconds = yield* wholeNumber(query, "wait", [0, maximumWaitSeconds, 0])
    return { terms: yield* termsOf(query), since, waitMillis: seconds * 1_000 }
  })

/** The mails that a change is about: by their ids, by a search, or all. */
export type Selection =
  | { readonly _tag: "Ids"; readonly ids: ReadonlyArray<string> }
  | { readonly _tag: "Search"; readonly terms: ReadonlyArray<MailTerm> }
  | { readonly _tag: "All" }

/** A change names its mails: a request without any would be a mistake that deletes everything. */
export const readSelection = (
  query: URLSearchParams,
  others: ReadonlyArray<string> = []
): Result.Result<Selection, RequestRefused> =>
  Result.gen(function* () {
    yield* checkNames(query, ["id", "q", "all", ...others])
    const named = ["id", "q", "all"].filter((name) => query.has(name))
    if (named.length !== 1) return yield* refused("Say which mails: by 'id' (once or more), by 'q', or by 'all=true'.")
    if (query.has("all")) {
      if ((yield* flag(query, "all")) !== true) return yield* refused("The parameter 'all' takes true.")
      return { _tag: "All" } as const
    }
    if (query.has("q")) return { _tag: "Search", terms: yield* termsOf(query) } as const
    const ids = query.getAll("id")
    if (ids.length > maximumIds) return yield* refused(`There are more than ${maximumIds} ids.`)
    return { _tag: "Ids", ids } as const
  })

/** Whether mails are to be read or unread. */
export const readMark = (query: URLSearchParams): Result.Result<boolean, RequestRefused> =>
  Result.flatMap(flag(query, "read"), (read) =>
    read === undefined ? refused("The parameter 'read' is missing: it takes true or false.") : Result.succeed(read)
  )

export const readImages = (query: URLSearchParams): Result.Result<"own" | "remote", RequestRefused> =>
  Result.gen(function* () {
    yield* checkNames(query, ["images"])
    const given = query.get("images")
    if (given === null || given === "own") return "own"
    return given === "remote" ? "remote" : yield* refused("The parameter 'images' takes own or remote.")
  })

export const readDownload = (query: URLSearchParams): Result.Result<boolean, RequestRefused> =>
  Result.flatMap(checkNames(query, ["download"]), () =>
    Result.map(flag(query, "download"), (download) => download === true)
  )
