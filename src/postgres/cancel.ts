/**
 * Stops a statement on the server when its fiber is interrupted: a CancelRequest (PostgreSQL protocol, "Canceling
 * Requests in Progress") on a fresh socket, repeated until the statement has settled, because one that arrives before
 * the statement has begun does nothing. If it has not settled in time the connection's own socket is destroyed.
 * The next statement of the connection must never be hit, so the server's closing of the cancel socket, which follows
 * the signal, is always awaited.
 */
import { connect } from "node:net"
import { Effect } from "effect"
import type { Client } from "pg"

/** An interrupted statement that has not settled after this time costs its connection. */
export const cancelDeadlineMillis = 2_000

/** Pause between two CancelRequests for the same statement. */
const cancelPauseMillis = 50

/** A cancel socket that the server neither refuses nor closes within this time is given up. */
const cancelSocketMillis = 1_000

const cancelRequestCode = 80_877_102

/** Whether the outcome of a statement is known, for the one fiber that waits to be told. */
export class Settlement {
  settled = false
  private notify: (() => void) | undefined

  settle(): void {
    this.settled = true
    this.notify?.()
  }

  /** Made only when a statement is interrupted, which few are. */
  get awaited(): Effect.Effect<void> {
    return Effect.callback((resume) => {
      if (this.settled) {
        resume(Effect.void)
        return
      }
      this.notify = () => resume(Effect.void)
      return Effect.sync(() => {
        this.notify = undefined
      })
    })
  }
}

/** What the canceller needs of a connection. */
export interface Cancellable {
  readonly client: Client
  readonly failure: Error | undefined
  readonly destroy: (reason: string) => void
}

/** Cancels what runs on the connection and returns when the statement has settled, one way or the other. */
export const cancel = (connection: Cancellable, settlement: Settlement): Effect.Effect<void> =>
  Effect.gen(function* () {
    while (!settlement.settled && connection.failure === undefined) {
      const outcome = yield* sendCancelRequest(connection.client)
      // The signal may still come, and would end an innocent statement.
      if (outcome === "unknown") connection.destroy("A cancelled statement left its connection in doubt")
      yield* Effect.raceFirst(settlement.awaited, Effect.sleep(cancelPauseMillis))
    }
    yield* settlement.awaited
  }).pipe(
    Effect.timeoutOrElse({
      duration: cancelDeadlineMillis,
      orElse: () =>
        Effect.suspend(() => {
          connection.destroy(`A cancelled statement did not end within ${cancelDeadlineMillis} ms`)
          return settlement.awaited
        })
    })
  )

/** `done`: the server has acted on the request, or never got it. Not interruptible: half a request is a doubt. */
const sendCancelRequest = (client: Client): Effect.Effect<"done" | "unknown"> =>
  Effect.uninterruptible(
    Effect.callback((resume) => {
      const { processID, secretKey } = client as unknown as Record<"processID" | "secretKey", number | null>
      // A proxy may keep the key to itself; then only the deadline helps.
      if (processID === null || secretKey === null) {
        resume(Effect.succeed("done"))
        return
      }
      const request = Buffer.alloc(16)
      request.writeInt32BE(16, 0)
      request.writeInt32BE(cancelRequestCode, 4)
      request.writeInt32BE(processID, 8)
      request.writeInt32BE(secretKey, 12)
      const socket = client.host.startsWith("/")
        ? connect(`${client.host}/.s.PGSQL.${client.port}`)
        : connect(client.port, client.host)
      let sent = false
      const finish = (outcome: "done" | "unknown") => {
        socket.removeAllListeners().on("error", () => {})
        socket.destroy()
        resume(Effect.succeed(outcome))
      }
      socket.setTimeout(cancelSocketMillis, () => finish(sent ? "unknown" : "done"))
      socket.once("connect", () => {
        sent = true
        socket.write(request)
      })
      // A reset after the request is the server's hard way of closing; before it, nothing was asked.
      socket.once("error", () => finish("done"))
      socket.once("close", () => finish("done"))
      socket.resume()
    })
  )
