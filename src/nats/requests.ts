/**
 * Sends requests over a NATS connection with a known outcome: answered, refused, timed out, or cut off by a disconnect,
 * which is reported immediately. The client's own requests notice a disconnect only at their timeout, and silently drop
 * messages published while disconnected. One inbox serves all requests. Needs a connection of
 * `@nats-io/transport-node`.
 */

import type { Msg, MsgHdrs, NatsConnection } from "@nats-io/transport-node"
import { createInbox } from "@nats-io/transport-node"
import { Data, Duration, Effect, type Scope } from "effect"

/**
 * Why a request has no answer.
 *
 * - `timeout`: nothing (acceptable) came in time; it may have been received.
 * - `disconnected`: the connection went away while waiting; it may have been received.
 * - `not-sent`: there was no connection to send it on; surely not received.
 * - `no-responders`: the server knows nobody who takes it; surely not received.
 * - `too-large`: over the server's `max_payload`; not sent.
 */
export type RequestFailure = "timeout" | "disconnected" | "not-sent" | "no-responders" | "too-large"

export class RequestFailed extends Data.TaggedError("RequestFailed")<{
  readonly reason: RequestFailure
  readonly subject: string
  readonly cause?: unknown
}> {
  override get message(): string {
    return `${sentences[this.reason]} (${this.subject})`
  }
}

const sentences: Readonly<Record<RequestFailure, string>> = {
  timeout: "NATS did not answer in time",
  disconnected: "the connection to NATS was lost before the answer came",
  "not-sent": "there is no connection to NATS",
  "no-responders": "nobody answers at NATS",
  "too-large": "the message is larger than the NATS server takes"
}

export interface RequestOptions {
  readonly timeoutMillis: number
  readonly headers?: MsgHdrs | undefined
  /** Whether to take an answer; others are ignored. By default the first is taken. */
  readonly accept?: ((message: Msg) => boolean) | undefined
  /** Without a connection: fail immediately with `not-sent`, or wait for one within the timeout. */
  readonly whenDisconnected: "fail" | "wait"
}

/** An inbox of its own: everything that is delivered to `reply` goes to the listener until it is closed. */
export interface Conversation {
  readonly reply: string
  readonly close: () => void
}

export interface Listener {
  readonly onMessage: (message: Msg) => void
  /** The connection was lost: nothing sent before will be answered. The conversation stays open. */
  readonly onDisconnect: () => void
}

export interface Requests {
  readonly connection: NatsConnection
  readonly isConnected: () => boolean
  readonly request: (
    subject: string,
    payload: Uint8Array | string,
    options: RequestOptions
  ) => Effect.Effect<Msg, RequestFailed>
  /**
   * Opens an inbox for any number of answers, including stored messages, which keep the subject that they were
   * published to.
   */
  readonly listen: (listener: Listener) => Conversation
}

/** Whether a message is the server's notice that nobody takes the request. */
export const isNoResponders = (message: Msg): boolean => message.data.length === 0 && message.headers?.code === 503

/** Starts watching the connection, which must be connected, until the scope ends. */
export const make = (connection: NatsConnection): Effect.Effect<Requests, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => new Inbox(connection)),
    (inbox) => Effect.sync(() => inbox.close())
  )

class Inbox implements Requests {
  readonly connection: NatsConnection
  private connected = true
  private counter = 0
  private readonly prefix = `${createInbox()}.`
  private readonly listeners = new Map<string, Listener>()
  private readonly waiting = new Set<() => void>()
  private readonly stop: () => void

  constructor(connection: NatsConnection) {
    this.connection = connection
    const subscription = connection.subscribe(`${this.prefix}*`, {
      callback: (error, message) => {
        if (error === null) this.listeners.get(message.subject.slice(this.prefix.length))?.onMessage(message)
      }
    })
    const status = connection.status()
    void this.watch(status)
    this.stop = () => {
      // A queued iterator can be stopped, which its type does not say.
      ;(status as unknown as { readonly stop?: () => void }).stop?.()
      if (!connection.isClosed()) subscription.unsubscribe()
    }
  }

  private async watch(status: ReturnType<NatsConnection["status"]>): Promise<void> {
    for await (const event of status) {
      if (event.type === "disconnect" || event.type === "close") this.lost()
      else if (event.type === "reconnect") this.found()
    }
  }

  private lost(): void {
    this.connected = false
    for (const listener of [...this.listeners.values()]) listener.onDisconnect()
  }

  private found(): void {
    this.connected = true
    for (const wake of [...this.waiting]) wake()
  }

  readonly isConnected = (): boolean => this.connected

  close(): void {
    this.stop()
    this.lost()
  }

  readonly listen = (listener: Listener): Conversation => {
    const token = String(++this.counter)
    const reply = createInbox()
    const subscription = this.connection.subscribe(reply, {
      callback: (error, message) => {
        if (error === null) listener.onMessage(message)
      }
    })
    this.listeners.set(token, listener)
    return {
      reply,
      close: () => {
        if (this.listeners.delete(token) && !this.connection.isClosed()) subscription.unsubscribe()
      }
    }
  }

  /** One answer to the shared inbox. */
  private converse(listener: Listener): Conversation {
    const token = String(++this.counter)
    this.listeners.set(token, listener)
    return { reply: this.prefix + token, close: () => void this.listeners.delete(token) }
  }

  readonly request = (
    subject: string,
    payload: Uint8Array | string,
    options: RequestOptions
  ): Effect.Effect<Msg, RequestFailed> =>
    Effect.suspend(() => {
      const progress = { sent: false }
      const attempt = this.attempt(subject, payload, options, progress)
      return Effect.timeoutOrElse(
        options.whenDisconnected === "wait" ? Effect.andThen(this.whenConnected, attempt) : attempt,
        {
          duration: Duration.millis(options.timeoutMillis),
          // Do not ask for the connection's state now: it may have gone after the request was sent.
          orElse: () => Effect.suspend(() => Effect.fail(failed(progress.sent ? "timeout" : "not-sent", subject)))
        }
      )
    })

  private readonly whenConnected: Effect.Effect<void> = Effect.callback((resume) => {
    if (this.connected) {
      resume(Effect.void)
      return
    }
    const wake = () => {
      this.waiting.delete(wake)
      resume(Effect.void)
    }
    this.waiting.add(wake)
    return Effect.sync(() => void this.waiting.delete(wake))
  })

  private attempt(
    subject: string,
    payload: Uint8Array | string,
    options: RequestOptions,
    progress: { sent: boolean }
  ): Effect.Effect<Msg, RequestFailed> {
    return Effect.callback<Msg, RequestFailed>((resume) => {
      if (!this.connected || this.connection.isClosed()) {
        resume(Effect.fail(failed("not-sent", subject)))
        return
      }
      const finish = (result: Effect.Effect<Msg, RequestFailed>) => {
        conversation.close()
        resume(result)
      }
      const conversation = this.converse({
        onMessage: (message) => {
          if (isNoResponders(message)) finish(Effect.fail(failed("no-responders", subject)))
          else if (options.accept === undefined || options.accept(message)) finish(Effect.succeed(message))
        },
        onDisconnect: () => finish(Effect.fail(failed("disconnected", subject)))
      })
      try {
        const { reply } = conversation
        const { headers } = options
        progress.sent = true
        this.connection.publish(subject, payload, headers === undefined ? { reply } : { reply, headers })
      } catch (cause) {
        const tooLarge = cause instanceof Error && cause.message.includes("max_payload")
        finish(Effect.fail(failed(tooLarge ? "too-large" : "not-sent", subject, cause)))
      }
      return Effect.sync(conversation.close)
    })
  }
}

const failed = (reason: RequestFailure, subject: string, cause?: unknown) =>
  new RequestFailed({ reason, subject, cause })
