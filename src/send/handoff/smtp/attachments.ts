/**
 * Attachments that are named by an address, fetched when their email is handed over (docs/handoff.md, 2.4): only from addresses that the guard lets pass, redirections
 * included, within 25 MB and a deadline for the email. Needs no service.
 */
import type { LookupFunction } from "node:net"
import { Data, Duration, Effect, Result, type Scope } from "effect"
import { Agent, request } from "undici"
import type { HandoffAnswer } from "../MailTransport.ts"
import { fetchMillis, maximumFetchedBytes, maximumRedirects } from "./limits.ts"

/** Which addresses may be fetched from: the rules of webhooks' targets. */
export interface FetchGuard {
  readonly open: (url: string) => Result.Result<URL, { readonly message: string }>
  /** Looks a host up at the expense of an organization. */
  readonly prepare: (url: URL, organizationId: string) => Effect.Effect<void, unknown>
  readonly lookup: LookupFunction
}

/** Why an email's attachments are not there; `answer` says what becomes of the email. */
export class AttachmentMissing extends Data.TaggedError("AttachmentMissing")<{ readonly answer: HandoffAnswer }> {}

const failed = (reason: string) => new AttachmentMissing({ answer: { _tag: "Failed", kind: "attachment", reason } })
const later = (reason: string) =>
  new AttachmentMissing({ answer: { _tag: "Temporary", code: "4.3.0", reason: reason.slice(0, 500) } })

export type FetchAttachments = (
  organizationId: string,
  paths: ReadonlyArray<string>
) => Effect.Effect<ReadonlyMap<string, Buffer>, AttachmentMissing>

const tooLarge = "The attachments that are given by addresses have more than 25 MB"

/** The body, up to a number of bytes. */
const bodyOf = async (body: AsyncIterable<Buffer>, most: number): Promise<Buffer> => {
  const chunks: Array<Buffer> = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > most) throw failed(tooLarge)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

type Fetched = { readonly bytes: Buffer } | { readonly redirectedTo: string }

/** One exchange. Rejects with `AttachmentMissing`. */
const exchange = async (agent: Agent, url: URL, most: number, signal: AbortSignal): Promise<Fetched> => {
  const { body, headers, statusCode } = await request(url, {
    dispatcher: agent,
    signal,
    headers: { accept: "*/*", "user-agent": "Sluice" }
  })
  const drop = () => body.on("error", () => undefined).destroy()
  if (statusCode >= 200 && statusCode < 300) {
    if (Number(headers["content-length"] ?? 0) > most) {
      drop()
      throw failed(tooLarge)
    }
    return { bytes: await bodyOf(body, most) }
  }
  drop()
  if (statusCode >= 500) throw later(`The address of an attachment answered ${statusCode}`)
  const { location } = headers
  if (statusCode >= 300 && statusCode < 400 && typeof location === "string") {
    const next = URL.parse(location, url.href)
    if (next !== null) return { redirectedTo: next.href }
  }
  throw failed(`The address of an attachment answered ${statusCode}`)
}

const fetchOne = (agent: Agent, guard: FetchGuard, organizationId: string, path: string, most: number) =>
  Effect.gen(function* () {
    let target = path
    for (let redirects = 0; redirects <= maximumRedirects; redirects++) {
      const opened = guard.open(target)
      if (Result.isFailure(opened)) return yield* failed(`An attachment is not fetched: ${opened.failure.message}`)
      yield* Effect.mapError(guard.prepare(opened.success, organizationId), () =>
        later("The host of an attachment could not be looked up")
      )
      const fetched: Fetched = yield* Effect.tryPromise({
        try: (signal) => exchange(agent, opened.success, most, signal),
        catch: (error) => {
          if (error instanceof AttachmentMissing) return error
          // A name that leads inside is refused like an address inside.
          const { cause, name } = error as { readonly name?: string; readonly cause?: { readonly _tag?: string } }
          return name === "TargetRefused" ||
            (error as { _tag?: string })._tag === "TargetRefused" ||
            cause?._tag === "TargetRefused"
            ? failed("An attachment is not fetched: its host has no public address")
            : later("The address of an attachment did not answer")
        }
      })
      if ("bytes" in fetched) return fetched.bytes
      target = fetched.redirectedTo
    }
    return yield* failed(`The address of an attachment redirects more than ${maximumRedirects} times`)
  })

/** Fetches over connections that end with the scope. */
export const makeFetchAttachments = (guard: FetchGuard): Effect.Effect<FetchAttachments, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(
        () => new Agent({ connect: { lookup: guard.lookup }, allowH2: false, pipelining: 1, keepAliveTimeout: 1_000 })
      ),
      (agent) => Effect.promise(() => agent.destroy())
    ),
    (agent): FetchAttachments =>
      Effect.fn("fetchAttachments")(
        function* (organizationId, paths) {
          const fetched = new Map<string, Buffer>()
          let left = maximumFetchedBytes
          for (const path of new Set(paths)) {
            const bytes = yield* fetchOne(agent, guard, organizationId, path, left)
            left -= bytes.length
            fetched.set(path, bytes)
          }
          return fetched
        },
        Effect.timeoutOrElse({
          duration: Duration.millis(fetchMillis),
          orElse: () => Effect.fail(later(`The attachments were not there within ${fetchMillis / 1_000} seconds`))
        })
      )
  )
