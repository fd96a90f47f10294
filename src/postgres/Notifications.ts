/**
 * Sends messages between nodes over PostgreSQL's LISTEN and NOTIFY. Sending is a statement, so inside a transaction it
 * happens with the commit or not at all. Receiving uses one session for all channels, which is replaced when it is
 * lost. PostgreSQL keeps nothing for disconnected listeners: the stream reports that messages may have been missed, and
 * `connected` says whether any can be missed right now. Needs `PgClient`. The client's own `listen` takes a pooled
 * connection for each channel, fails with that connection, and keeps an unbounded queue for a slow reader.
 */
import {
  Cause,
  Context,
  Data,
  Effect,
  Exit,
  Fiber,
  Layer,
  Queue,
  Random,
  Scope,
  Semaphore,
  Stream,
  SubscriptionRef
} from "effect"
import type { SqlError } from "effect/sql"
import { Pauses } from "../common/backoff.ts"
import { PgClient } from "./PgClient.ts"
import { type PgSession, type Watch, watch } from "./PgSession.ts"

/** Longest payload that PostgreSQL carries, in bytes of UTF-8. Send an id and read the rest from a table. */
export const maxPayloadBytes = 7_999

/** How many notifications a listener may lag behind before it gets a gap instead. */
export const maxPendingNotifications = 1_024

/** A dead peer is noticed within the sum of these two. */
export const defaultWatch: Watch = { intervalMillis: 500, timeoutMillis: 1_000 }

/**
 * Of a server that this process has started: the machine itself closes the connections of a dead one, and nobody can
 * change anything in one that hangs. So an idle platform need not ask twice a second.
 */
export const ownServerWatch: Watch = { intervalMillis: 5_000, timeoutMillis: 1_000 }

const firstReconnectMillis = 50
const lastReconnectMillis = 2_000

/** A message to a listener. See {@link Notifications}. */
export type Notification = Data.TaggedEnum<{
  /**
   * Comes first, once listening is in force, and again whenever notifications may have been missed. Read everything
   * afresh.
   */
  readonly Gap: Record<never, never>
  readonly Message: { readonly payload: string }
}>
/** Makes messages. See {@link Notifications}. */
export const Notification = Data.taggedEnum<Notification>()

/** A payload is longer than PostgreSQL carries. See {@link Notifications}. */
export class NotificationTooLong extends Data.TaggedError("NotificationTooLong")<{
  readonly channel: string
  readonly bytes: number
}> {
  override get message(): string {
    return `A notification on ${this.channel} has ${this.bytes} bytes, at most ${maxPayloadBytes} can be sent`
  }
}

/**
 * Sends messages to the other processes on the database, and receives theirs. `Directory.layer` learns of new
 * publications by it.
 *
 * @example
 * ```ts no-run
 * import { Layer } from "effect"
 * import { Directory, layerNotifications } from "sluice/directory"
 *
 * // Give it the `PgClient` and the `SqlClient` of `Durable.layer`.
 * const directory = Directory.layer.pipe(Layer.provide(layerNotifications()))
 * console.log(Layer.isLayer(directory))
 * ```
 */
export class Notifications extends Context.Service<
  Notifications,
  {
    /** Sends to every listener of the database, including this node's own, when the surrounding transaction commits. */
    readonly notify: (channel: string, payload: string) => Effect.Effect<void, SqlError.SqlError | NotificationTooLong>
    /** Never fails. While the connection is lost nothing comes; when it is back, a `Gap` comes. */
    readonly listen: (channel: string) => Stream.Stream<Notification>
    /** Whether every listened channel is in force. Read it only; `SubscriptionRef.getUnsafe` costs nothing. */
    readonly connected: SubscriptionRef.SubscriptionRef<boolean>
  }
>()("sluice/postgres/Notifications") {}

/** A listener's payloads without the gaps, for callers that have other means against them. */
export const payloads = <E, R>(notifications: Stream.Stream<Notification, E, R>): Stream.Stream<string, E, R> =>
  notifications.pipe(
    Stream.filter(Notification.$is("Message")),
    Stream.map(({ payload }) => payload)
  )

/** The times of the session that receives. See {@link Notifications}. */
export interface NotificationsOptions {
  /** Signs of life of the connection, default {@link defaultWatch}. */
  readonly watch?: Watch
}

type Listener = Queue.Queue<Notification, Cause.Done>

/** A session with the channels that are in force on it. Closing a channel's scope gives it up. */
interface Live {
  readonly session: PgSession
  readonly scope: Scope.Scope
  readonly channels: Map<string, Scope.Closeable>
}

/** The listeners by channel, and the session of the open channels. */
interface Switchboard {
  readonly listeners: Map<string, Set<Listener>>
  readonly connected: SubscriptionRef.SubscriptionRef<boolean>
  /** Held while channels are put in force or given up, so that the two never cross. */
  readonly turn: Semaphore.Semaphore
  /** The session on which every channel of `listeners` is in force. */
  current: Live | undefined
}

const everyListener = ({ listeners }: Switchboard) =>
  Array.from(listeners.values()).flatMap((channel) => Array.from(channel))

/** Puts a channel in force, and hands over what comes on it. */
const begin = Effect.fnUntraced(function* ({ listeners }: Switchboard, live: Live, channel: string) {
  const scope = yield* Scope.fork(live.scope)
  live.channels.set(channel, scope)
  const queue = yield* Scope.provide(live.session.listen(channel), scope)
  const handOver = Effect.flatMap(Queue.takeAll(queue), (notifications) =>
    Effect.sync(() => {
      for (const { payload } of notifications) {
        for (const listener of listeners.get(channel) ?? []) deliver(listener, Notification.Message({ payload }))
      }
    })
  )
  yield* handOver.pipe(Effect.forever, Effect.ignore, Effect.forkIn(scope))
})

interface SessionOptions {
  readonly open: ReturnType<PgClient["session"]>
  readonly watch: Watch
  readonly established: Effect.Effect<void>
}

/** One life of the session; ends by failing. */
const runSession = Effect.fnUntraced(function* (board: Switchboard, options: SessionOptions) {
  const session = yield* options.open
  const live: Live = { session, scope: yield* Effect.scope, channels: new Map() }
  // Started first: it also ends a LISTEN that gets no answer.
  const watching = yield* Effect.forkScoped(watch(session, options.watch))
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      board.current = undefined
      return SubscriptionRef.set(board.connected, false)
    })
  )
  yield* board.turn.withPermit(
    Effect.gen(function* () {
      for (const channel of board.listeners.keys()) yield* begin(board, live, channel)
      board.current = live
      for (const listener of everyListener(board)) deliver(listener, Notification.Gap())
      yield* SubscriptionRef.set(board.connected, true)
    })
  )
  yield* options.established
  return yield* Effect.flatMap(Fiber.join(watching), Effect.fail)
}, Effect.scoped)

/** Replaces the session whenever it is lost. */
const keepConnected = Effect.fnUntraced(function* (board: Switchboard, options: Omit<SessionOptions, "established">) {
  const pauses = new Pauses(firstReconnectMillis, lastReconnectMillis)
  let outage = false
  const established = Effect.suspend(() => {
    pauses.reset()
    if (!outage) return Effect.void
    outage = false
    return Effect.logInfo("The connection for notifications is back")
  })
  for (;;) {
    const exit = yield* Effect.exit(runSession(board, { ...options, established }))
    const reason = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
    // Warn once per outage; log every attempt for debugging.
    const log = outage ? Effect.logDebug : Effect.logWarning
    yield* log("The connection for notifications is lost", reason instanceof Error ? reason.message : reason)
    outage = true
    yield* Effect.sleep(pauses.afterFailure() * (0.5 + (yield* Random.next)))
  }
})

/** Opens the channel for one more listener, immediately or with the next connection. */
const join = (board: Switchboard, channel: string, listener: Listener) =>
  board.turn.withPermit(
    Effect.gen(function* () {
      const { current, listeners } = board
      if (current !== undefined && !current.channels.has(channel)) {
        const inForce = yield* Effect.isSuccess(begin(board, current, channel))
        // A channel that is not in force must not count as one, for any reason.
        if (!inForce) current.session.destroy(`The channel ${channel} could not be listened to`)
      }
      const channelListeners = listeners.get(channel) ?? new Set()
      listeners.set(channel, channelListeners.add(listener))
      if (current !== undefined && current === board.current) deliver(listener, Notification.Gap())
    })
  )

const leave = (board: Switchboard, channel: string, listener: Listener) =>
  board.turn.withPermit(
    Effect.suspend(() => {
      const { current, listeners } = board
      const channelListeners = listeners.get(channel)
      if (channelListeners?.delete(listener) !== true || channelListeners.size > 0) return Effect.void
      listeners.delete(channel)
      const inForce = current?.channels.get(channel)
      current?.channels.delete(channel)
      return inForce === undefined ? Effect.void : Scope.close(inForce, Exit.void)
    })
  )

export const make = Effect.fnUntraced(function* (
  options: NotificationsOptions = {}
): Effect.fn.Return<Notifications["Service"], never, PgClient | Scope.Scope> {
  const client = yield* PgClient
  const board: Switchboard = {
    listeners: new Map(),
    connected: yield* SubscriptionRef.make(false),
    turn: Semaphore.makeUnsafe(1),
    current: undefined
  }

  const listen = (channel: string): Stream.Stream<Notification> =>
    Stream.unwrap(
      Effect.gen(function* () {
        assertChannel(channel)
        const listener = yield* Effect.acquireRelease(
          Queue.dropping<Notification, Cause.Done>(maxPendingNotifications),
          (queue) => leave(board, channel, queue)
        )
        yield* join(board, channel, listener)
        return Stream.fromQueue(listener)
      })
    )

  const notify: Notifications["Service"]["notify"] = Effect.fn("Notifications.notify")(function* (channel, payload) {
    assertChannel(channel)
    const bytes = Buffer.byteLength(payload)
    if (bytes > maxPayloadBytes) return yield* new NotificationTooLong({ channel, bytes })
    yield* client`SELECT pg_notify(${channel}, ${payload})`
  })

  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      for (const listener of everyListener(board)) Queue.endUnsafe(listener)
    })
  )
  const session = { open: client.session("notifications"), watch: options.watch ?? defaultWatch }
  yield* Effect.forkScoped(keepConnected(board, session))
  return { notify, listen, connected: board.connected }
})

/**
 * Receives by one session for all channels. See {@link Notifications}.
 *
 * @example
 * ```ts no-run
 * import { Effect, Layer } from "effect"
 * import { layerNotifications, Notifications } from "sluice/directory"
 * import type { PgClient } from "sluice/durable"
 *
 * declare const database: Layer.Layer<PgClient>
 *
 * const isConnected = Effect.map(Notifications, ({ connected }) => connected)
 * const program = Effect.provide(isConnected, layerNotifications().pipe(Layer.provide(database)))
 * ```
 */
export const layer = (options?: NotificationsOptions): Layer.Layer<Notifications, never, PgClient> =>
  Layer.effect(Notifications, make(options))

/** Hands over a notification, or a gap when the listener has not kept up. */
const deliver = (listener: Listener, notification: Notification): void => {
  if (Queue.offerUnsafe(listener, notification) || !Queue.isFullUnsafe(listener)) return
  while (Queue.sizeUnsafe(listener) > 0) Queue.takeUnsafe(listener)
  Queue.offerUnsafe(listener, Notification.Gap())
}

/** Channels are named in the code; a name that PostgreSQL would fold or cut is a defect. */
const assertChannel = (channel: string): void => {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(channel)) throw new Error(`"${channel}" is no name of a channel`)
}
