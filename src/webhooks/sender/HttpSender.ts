/**
 * Posts deliveries with undici: it keeps connections per host, connects only to addresses that the guard has checked,
 * does not follow redirects, and reads a bounded part of each answer (`boundAnswers.ts`). The dispatcher limits an
 * endpoint's attempts, so the connection pools have no limit.
 */

import { type Context, Effect, Result, type Scope } from "effect"
import { Agent, buildConnector, type Dispatcher, errors } from "undici"
import { BoundedMap } from "../../common/BoundedMap.ts"
import { keptResponseBytes, readResponseBytes } from "../delivery/model.ts"
import type { DeliveryAnswer, DeliveryRequest, DeliverySender } from "../delivery/ports.ts"
import { noPublicAddress, type TargetGuard, TargetRefused } from "../target/targets.ts"
import { AnswerTooLarge, answerTooLarge, boundingAnswers } from "./boundAnswers.ts"
import type { EgressProxy } from "./egressProxy.ts"
import { type After, ProxyFailed, proxyConnector } from "./proxyConnector.ts"

/** How long an idle connection is kept: by default, and at most when the server asks for longer. */
const keepAliveMillis = 4_000
const maximumKeepAliveMillis = 60_000

/**
 * How many checked URLs are remembered. The check depends on the URL only; addresses of names are checked at every
 * connection.
 */
const maximumRemembered = 1_000

/** Headers of an answer, in bytes. */
const maximumHeaderBytes = 16_384

/** The reasons for a missing answer, in words for the endpoint's owner that reveal nothing of the network inside. */
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "The connection was refused",
  ECONNRESET: "The connection was reset",
  EPIPE: "The connection was closed while the delivery was sent",
  ENOTFOUND: noPublicAddress,
  EAI_AGAIN: "The host name could not be looked up",
  EHOSTUNREACH: "The host cannot be reached",
  ENETUNREACH: "The host cannot be reached",
  ETIMEDOUT: "The connection timed out",
  UND_ERR_CONNECT_TIMEOUT: "The connection timed out",
  UND_ERR_SOCKET: "The connection was closed without an answer",
  UND_ERR_HEADERS_OVERFLOW: "The headers of the answer are too large",
  CERT_HAS_EXPIRED: "The certificate has expired",
  DEPTH_ZERO_SELF_SIGNED_CERT: "The certificate is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "The certificate is self-signed",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "The certificate could not be verified",
  ERR_TLS_CERT_ALTNAME_INVALID: "The certificate is of another host"
}

const codeOf = (error: unknown): string => {
  const { cause, code, errors } = error as { code?: unknown; cause?: unknown; errors?: ReadonlyArray<unknown> }
  if (typeof code === "string") return code
  return cause !== undefined ? codeOf(cause) : errors?.[0] !== undefined ? codeOf(errors[0]) : ""
}

/** Whether the parser refuses the answer; its error has a code in some cases only. */
const isMalformed = (error: unknown): boolean => error instanceof errors.HTTPParserError

const reasonOf = (error: unknown): string => {
  if (error instanceof TargetRefused || error instanceof AnswerTooLarge || error instanceof ProxyFailed)
    return error.message
  const code = codeOf(error)
  if (isMalformed(error)) return "The answer is not HTTP"
  if (code.startsWith("ERR_SSL") || code === "EPROTO") return "The TLS handshake failed"
  return reasons[code] ?? "There was no answer"
}

/** The fault of an answer whose status has come. */
const faultOf = (error: unknown): string => {
  if (error instanceof AnswerTooLarge) return error.message
  const code = codeOf(error)
  if (code === "UND_ERR_HEADERS_OVERFLOW") return "The trailers of the answer are too large"
  return isMalformed(error) ? "The body of the answer is not HTTP" : "The answer broke off"
}

const unanswered = (error: string): DeliveryAnswer => ({ attempt: { _tag: "NoAnswer" }, response: null, error })

/** The result of an exchange without an answer. */
const failedWith = (error: unknown): DeliveryAnswer =>
  error instanceof ProxyFailed && error.isOurs
    ? { attempt: { _tag: "NoAnswer", isOurs: true }, response: null, error: error.message }
    : unanswered(reasonOf(error))

const decoder = new TextDecoder()

/** The beginning of a body as text, without characters that a database or a terminal cannot handle. */
const textOf = (chunks: ReadonlyArray<Buffer>): string => {
  if (chunks.length === 0) return ""
  const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
  return decoder.decode(bytes.subarray(0, keptResponseBytes)).replaceAll("\0", "\ufffd")
}

const abandoned = new Error("given up")

/** One exchange: follows undici's events and answers once. */
class Exchange implements Dispatcher.DispatchHandler {
  private controller: Dispatcher.DispatchController | undefined
  private status = 0
  private retryAfter: string | undefined
  private chunks: Array<Buffer> = []
  private kept = 0
  private read = 0
  private isOver = false
  private readonly timer: NodeJS.Timeout
  private readonly done: (answer: DeliveryAnswer) => void

  /** `leftMillis` is the rest of `timeoutMillis`, the time that the whole attempt may take. */
  constructor(leftMillis: number, timeoutMillis: number, done: (answer: DeliveryAnswer) => void) {
    this.done = done
    // A timer of the system, because sockets know no other time; a simulation replaces this sender.
    this.timer = setTimeout(() => this.timedOut(timeoutMillis), leftMillis)
  }

  /** Gives the exchange up without an answer. */
  abandon(): void {
    if (this.isOver) return
    this.isOver = true
    clearTimeout(this.timer)
    this.controller?.abort(abandoned)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    // The exchange may have been given up while it waited for its connection.
    if (this.isOver) controller.abort(abandoned)
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | Array<string> | undefined>>
  ): void {
    // 1xx are no answers.
    if (status < 200) return
    this.status = status
    const retryAfter = headers["retry-after"]
    this.retryAfter = typeof retryAfter === "string" ? retryAfter : retryAfter?.[0]
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.kept < keptResponseBytes) {
      this.chunks.push(chunk)
      this.kept += chunk.length
    }
    this.read += chunk.length
    // Bytes read together may be the whole answer, so the connection does not report the excess.
    if (this.read > readResponseBytes) this.giveUp(this.answer(answerTooLarge(readResponseBytes).message))
  }

  onResponseEnd(): void {
    this.finish(this.answer(null))
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    // The status has come whole, and it decides.
    this.finish(this.status > 0 ? this.answer(faultOf(error)) : failedWith(error))
  }

  /** The exchange could not even begin. */
  refused(error: unknown): void {
    this.finish(failedWith(error))
  }

  private finish(answer: DeliveryAnswer): void {
    if (this.isOver) return
    this.isOver = true
    clearTimeout(this.timer)
    this.done(answer)
  }

  /** Answers and closes the connection. */
  private giveUp(answer: DeliveryAnswer): void {
    if (this.isOver) return
    this.abandon()
    this.done(answer)
  }

  private answer(fault: string | null): DeliveryAnswer {
    return {
      attempt: { _tag: "Answered", status: this.status, retryAfter: this.retryAfter },
      response: textOf(this.chunks),
      error: fault
    }
  }

  private timedOut(timeoutMillis: number): void {
    if (this.status > 0) this.giveUp(this.answer(`The answer did not end within ${timeoutMillis / 1000} s`))
    else
      this.giveUp({
        attempt: { _tag: "TimedOut" },
        response: null,
        error: `There was no answer within ${timeoutMillis / 1000} s`
      })
  }
}

/** The target of a URL, or why nothing is delivered there. */
type Opened = { readonly url: URL; readonly origin: string; readonly path: string } | { readonly refused: string }

/** Asks the guard once for each URL in use and remembers its answer. */
const remembering = (guard: TargetGuard): ((url: string) => Opened) => {
  const known = new BoundedMap<string, Opened>(maximumRemembered)
  return (url) => {
    const before = known.get(url)
    if (before !== undefined) return before
    const opened = Result.match(guard.open(url), {
      onFailure: ({ message }): Opened => ({ refused: message }),
      onSuccess: (checked): Opened => ({
        url: checked,
        origin: checked.origin,
        path: `${checked.pathname}${checked.search}`
      })
    })
    known.set(url, opened)
    return opened
  }
}

/** Waits by the Clock of the sender. */
const afterBy = (context: Context.Context<never>): After => {
  const fork = Effect.runForkWith(context)
  return (millis, act) => {
    const waiting = fork(Effect.andThen(Effect.sleep(millis), Effect.sync(act)))
    return () => waiting.interruptUnsafe()
  }
}

/**
 * A sender whose connections end with the scope. With a proxy all of them go through it.
 *
 * @example
 * ```ts
 * import { HttpSender, makeTargetGuard } from "sluice/webhook/dispatcher"
 *
 * // the `sender` of a dispatcher on a store of your own
 * export const sender = HttpSender.make(makeTargetGuard("public"))
 * ```
 */
export const make = (guard: TargetGuard, proxy?: EgressProxy): Effect.Effect<DeliverySender, never, Scope.Scope> => {
  const connectorBy = (after: After) =>
    proxy === undefined
      ? buildConnector({ lookup: guard.lookup, allowH2: false })
      : proxyConnector(proxy, guard.lookup, after)
  const open = remembering(guard)
  return Effect.map(
    Effect.acquireRelease(
      Effect.map(
        Effect.context<never>(),
        (context) =>
          new Agent({
            connect: boundingAnswers(connectorBy(afterBy(context)), readResponseBytes),
            allowH2: false,
            pipelining: 1,
            // The exchange's own timer bounds the whole exchange.
            headersTimeout: 0,
            bodyTimeout: 0,
            keepAliveTimeout: keepAliveMillis,
            keepAliveMaxTimeout: maximumKeepAliveMillis,
            maxHeaderSize: maximumHeaderBytes
          })
      ),
      (agent) => Effect.promise(() => agent.destroy())
    ),
    (agent): DeliverySender => {
      const post = (
        { body, headers, timeoutMillis }: DeliveryRequest,
        origin: string,
        path: string,
        leftMillis: number
      ) =>
        Effect.callback<DeliveryAnswer>((resume) => {
          const exchange = new Exchange(leftMillis, timeoutMillis, (answer) => resume(Effect.succeed(answer)))
          try {
            agent.dispatch({ origin, path, method: "POST", headers, body }, exchange)
          } catch (error) {
            exchange.refused(error)
          }
          return Effect.sync(() => exchange.abandon())
        })
      return {
        send: (request) =>
          Effect.suspend(() => {
            const opened = open(request.url)
            if ("refused" in opened) return Effect.succeed(unanswered(opened.refused))
            const { origin, path, url } = opened
            return Effect.clockWith((clock) => {
              const begunAt = clock.currentTimeMillisUnsafe()
              return Effect.matchEffect(guard.prepare(url, request.organizationId), {
                onFailure: (error) => Effect.succeed(unanswered(reasonOf(error))),
                onSuccess: () => {
                  const lookedUpMillis = clock.currentTimeMillisUnsafe() - begunAt
                  return post(request, origin, path, Math.max(1, request.timeoutMillis - lookedUpMillis))
                }
              })
            })
          })
      }
    }
  )
}
