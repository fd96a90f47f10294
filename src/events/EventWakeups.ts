/**
 * Wakes the waiters of an organization when events were appended: on this node immediately, on other nodes by a
 * notification of PostgreSQL. A fiber sends it after the commit, not inside the transaction, because commits that
 * notify wait for each other. Waiters also look by themselves from time to time, so a lost notification only delays
 * them. Needs `Notifications`.
 */
import { Context, Duration, Effect, Latch, Layer, type Scope, Stream } from "effect"
import { Notifications } from "../postgres/Notifications.ts"

/** The channel between nodes: organizations separated by commas, or `*` for all. */
const channel = "events"

/** Longest payload that is sent, in bytes; PostgreSQL carries 7,999. */
const maximumPayloadBytes = 7_500

/** Most organizations that are named; with more, every waiter is woken. */
const maximumNamed = 1_000

/** Pause between two notifications, in which further organizations gather. */
const pauseMillis = 20

/** The waiters for the events of one organization. */
export interface EventWaiter {
  /** Answers true once events may have been appended since the last call, or false after the timeout. */
  readonly wait: (timeoutMillis: number) => Effect.Effect<boolean>
}

export class EventWakeups extends Context.Service<
  EventWakeups,
  {
    /** Announces appended events. Call it after the commit; it costs next to nothing. */
    readonly announce: (organizations: Iterable<string>) => void
    /** A waiter that lives as long as the scope. */
    readonly listen: (organization: string) => Effect.Effect<EventWaiter, never, Scope.Scope>
  }
>()("sluice/events/EventWakeups") {
  static readonly layer: Layer.Layer<EventWakeups, never, Notifications> = Layer.effect(
    EventWakeups,
    Effect.suspend(() => make)
  )
}

/** Payloads that name all these organizations. */
export const payloadsOf = (organizations: Iterable<string>): ReadonlyArray<string> => {
  const payloads: Array<string> = []
  let payload = ""
  for (const organization of organizations) {
    if (payload !== "" && Buffer.byteLength(payload) + Buffer.byteLength(organization) >= maximumPayloadBytes) {
      payloads.push(payload)
      payload = ""
    }
    payload = payload === "" ? organization : `${payload},${organization}`
  }
  return payload === "" ? payloads : [...payloads, payload]
}

const make = Effect.gen(function* () {
  const notifications = yield* Notifications
  const waiters = new Map<string, Set<() => void>>()
  const pending = new Set<string>()
  let all = false
  const something = Latch.makeUnsafe(false)

  const wake = (organization: string): void => {
    for (const waiter of waiters.get(organization) ?? []) waiter()
  }
  const wakeAll = (): void => {
    for (const organization of waiters.keys()) wake(organization)
  }

  const send = Effect.gen(function* () {
    yield* something.await
    something.closeUnsafe()
    const payloads = all ? ["*"] : payloadsOf(pending)
    all = false
    pending.clear()
    for (const payload of payloads) yield* notifications.notify(channel, payload)
  }).pipe(
    // Waiters on other nodes look by themselves after a while.
    Effect.catch((error) => Effect.logDebug("Other nodes were not told of new events", error)),
    Effect.andThen(Effect.sleep(Duration.millis(pauseMillis))),
    Effect.forever
  )
  yield* Effect.forkScoped(send)

  yield* notifications.listen(channel).pipe(
    Stream.runForEach((notification) =>
      Effect.sync(() => {
        if (notification._tag === "Gap" || notification.payload === "*") wakeAll()
        else for (const organization of notification.payload.split(",")) wake(organization)
      })
    ),
    Effect.forkScoped
  )

  return EventWakeups.of({
    announce: (organizations) => {
      for (const organization of organizations) {
        wake(organization)
        if (pending.size < maximumNamed) pending.add(organization)
        else all = true
      }
      something.openUnsafe()
    },
    listen: Effect.fn("EventWakeups.listen")(function* (organization) {
      const woken = Latch.makeUnsafe(false)
      const waiter = () => void woken.openUnsafe()
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          waiters.set(organization, (waiters.get(organization) ?? new Set()).add(waiter))
        }),
        () =>
          Effect.sync(() => {
            const others = waiters.get(organization)
            others?.delete(waiter)
            if (others?.size === 0) waiters.delete(organization)
          })
      )
      return {
        wait: (timeoutMillis) =>
          woken.await.pipe(
            Effect.andThen(Effect.sync(() => void woken.closeUnsafe())),
            Effect.timeoutOption(Duration.millis(timeoutMillis)),
            Effect.map((option) => option._tag === "Some")
          )
      }
    })
  })
})
