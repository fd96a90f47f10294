/**
 * Asks whether the links of a mail lead anywhere (docs/handoff.md, 3.4), from this server and only to addresses that the
 * guard of webhooks lets pass, redirections included: HEAD, then GET where that is refused. Needs no service.
 */
import { Clock, Data, Duration, Effect, Result, type Scope } from "effect"
import { Agent, request } from "undici"
import { makeRefusingBulkhead } from "../../../common/Bulkhead.ts"
import type { FetchGuard } from "../smtp/attachments.ts"

/** How long one link, and all links of a mail, may take. */
const linkMillis = 5_000
const allMillis = 20_000

/** Links that are asked for concurrently, and redirections that are followed. */
const maximumConcurrent = 8
const maximumRedirects = 3

/** Mails whose links are checked concurrently. */
const maximumChecks = 2

/** The answer for one link. */
export interface LinkResult {
  readonly url: string
  /**
   * `ok`: below 400. `broken`: 400 or more. `refused`: the platform does not ask there. `unreachable`: no answer.
   * `unchecked`: it is no web address, or there was no time left.
   */
  readonly outcome: "ok" | "broken" | "refused" | "unreachable" | "unchecked"
  /** The HTTP status; null without one. */
  readonly status: number | null
  /** In words, if there is something to say. */
  readonly detail: string | null
  /** The address behind the redirections; null without any. */
  readonly finalUrl: string | null
}

/** Too many mails are being checked. */
export class ChecksFull extends Data.TaggedError("ChecksFull") {}

export interface LinkChecks {
  /** Checks links. Takes at most 20 seconds. */
  readonly check: (urls: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<LinkResult>, ChecksFull>
}

type Outcome = Omit<LinkResult, "url">

const without = (outcome: Outcome["outcome"], detail: string): Outcome => ({
  outcome,
  status: null,
  detail,
  finalUrl: null
})

interface Exchange {
  readonly status: number
  readonly location: string | undefined
}

const exchange = async (agent: Agent, url: URL, method: "HEAD" | "GET", signal: AbortSignal): Promise<Exchange> => {
  const { body, headers, statusCode } = await request(url, {
    dispatcher: agent,
    method,
    signal,
    headers: { accept: "*/*", "user-agent": "Sluice" }
  })
  // Only the status counts, however long the body is.
  body.on("error", () => undefined).destroy()
  return { status: statusCode, location: typeof headers.location === "string" ? headers.location : undefined }
}

/** Whether the guard has refused the address of a name. */
const isRefusal = (error: unknown): boolean => {
  const { _tag, cause } = error as { readonly _tag?: string; readonly cause?: { readonly _tag?: string } }
  return _tag === "TargetRefused" || cause?._tag === "TargetRefused"
}

/** HEAD, and GET where a server does not take that. */
const asked = (agent: Agent, url: URL): Effect.Effect<Exchange, Outcome> =>
  Effect.tryPromise({
    try: async (signal) => {
      const head = await exchange(agent, url, "HEAD", signal)
      return head.status < 400 ? head : exchange(agent, url, "GET", signal)
    },
    catch: (error) =>
      isRefusal(error)
        ? without("refused", "Its host has no public address")
        : without("unreachable", "Its host did not answer")
  })

/** The rules of webhooks' targets ask for https; of a link only its host and port matter. */
const opened = (guard: FetchGuard, url: string): Effect.Effect<URL, Outcome> => {
  const result = guard.open(url.replace(/^http:/i, "https:"))
  return Result.isFailure(result)
    ? Effect.fail(without("refused", "The platform asks only public addresses"))
    : Effect.succeed(new URL(url))
}

const checkOne = Effect.fnUntraced(function* (agent: Agent, guard: FetchGuard, url: string) {
  let target = url
  for (let redirects = 0; redirects <= maximumRedirects; redirects++) {
    const address = yield* opened(guard, target)
    yield* Effect.mapError(guard.prepare(address, "mailbox"), () => without("unreachable", "Its host has no address"))
    const { location, status } = yield* asked(agent, address)
    const next = status >= 300 && status < 400 && location !== undefined ? URL.parse(location, address.href) : null
    if (next === null) {
      const outcome = status < 400 ? "ok" : "broken"
      return { outcome, status, detail: null, finalUrl: target === url ? null : target } satisfies Outcome as Outcome
    }
    if (!/^https?:$/.test(next.protocol)) return without("refused", `It redirects to ${next.protocol}`)
    target = next.href
  }
  return without("broken", `It redirects more than ${maximumRedirects} times`)
})

/** Checks over connections that end with the scope. */
export const makeLinkChecks = (guard: FetchGuard): Effect.Effect<LinkChecks, never, Scope.Scope> =>
  Effect.gen(function* () {
    const agent = yield* Effect.acquireRelease(
      Effect.sync(
        () => new Agent({ connect: { lookup: guard.lookup }, allowH2: false, pipelining: 1, keepAliveTimeout: 1_000 })
      ),
      (open) => Effect.promise(() => open.destroy())
    )
    const enter = makeRefusingBulkhead({ total: maximumChecks, ofOrganization: maximumChecks })
    const within = (url: string, until: number) =>
      Effect.gen(function* () {
        if (!/^https?:\/\//i.test(url)) return without("unchecked", "It is no web address")
        const left = until - (yield* Clock.currentTimeMillis)
        if (left <= 0) return without("unchecked", "There was no time left for it")
        return yield* checkOne(agent, guard, url).pipe(
          Effect.catch((outcome) => Effect.succeed(outcome)),
          Effect.timeoutOrElse({
            duration: Duration.millis(Math.min(linkMillis, left)),
            orElse: () => Effect.succeed(without("unreachable", "It did not answer in time"))
          })
        )
      }).pipe(Effect.map((outcome): LinkResult => ({ url, ...outcome })))
    return {
      check: Effect.fn("LinkChecks.check")(function* (urls) {
        yield* Effect.mapError(enter("mailbox"), () => new ChecksFull())
        const until = (yield* Clock.currentTimeMillis) + allMillis
        return yield* Effect.forEach(urls, (url) => within(url, until), { concurrency: maximumConcurrent })
      }, Effect.scoped)
    }
  })
