/** A cap that is exact: a new account sends 50 in any hour, and is trusted a day after its first send. `node probation.ts` */
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Actor, Engine } from "sluice"

const hourMillis = 3_600_000
const cap = 50

class CapReached extends Schema.TaggedError<CapReached>()("CapReached", { passesAt: Schema.Int }) {}

const Send = Schema.Struct({ to: Schema.String })
const Fact = Schema.Union([Schema.TaggedStruct("Sent", { at: Schema.Int }), Schema.TaggedStruct("Trusted", {})])
const State = Schema.Struct({
  /** Times of the sends that may count, oldest first: never more than the cap. */
  sent: Schema.Array(Schema.Int),
  trustedAt: Schema.NullOr(Schema.Int),
  trusted: Schema.Boolean
})

export const Sender = Actor.make({
  kind: "sender",
  command: Send,
  fact: Fact,
  state: State,
  initial: () => ({ sent: [], trustedAt: null, trusted: false }),
  // replies how many more may follow at once; what counts is the hour that ends now, to the millisecond
  decide: ({ sent, trusted }, _, { now }) => {
    if (trusted) return Actor.decided({ reply: Number.POSITIVE_INFINITY })
    const counted = sent.filter((at) => at > now - hourMillis)
    if (counted.length === cap) return Actor.rejected(new CapReached({ passesAt: counted[0]! + hourMillis }))
    return Actor.decided({ facts: [{ _tag: "Sent", at: now }], reply: cap - counted.length - 1 })
  },
  evolve: (state, fact) =>
    fact._tag === "Trusted"
      ? { sent: [], trustedAt: null, trusted: true }
      : {
          ...state,
          sent: [...state.sent, fact.at].slice(-cap),
          trustedAt: state.trustedAt ?? fact.at + 24 * hourMillis
        },
  // the engine wakes the actor then, also after a restart
  wakeAt: ({ trustedAt }) => trustedAt ?? undefined,
  wake: () => Actor.decided({ facts: [{ _tag: "Trusted" }] })
})

const program = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  const send = engine.ask(Sender, { organization: "acme" }, { to: "bob@example.com" })
  yield* Effect.repeat(send, { times: cap - 1 })
  const passesAt = yield* Effect.catchTag(send, "CapReached", (reached) => Effect.succeed(reached.passesAt))
  yield* TestClock.adjust("1 hour")
  const afterAnHour = yield* send
  yield* TestClock.adjust("23 hours")
  return [passesAt, afterAnHour, yield* send]
})

// a clock that the program moves; without it, time is the real one
const layer = Engine.layerMemory({ actors: [Sender] })
console.log(await Effect.runPromise(program.pipe(Effect.provide(layer), Effect.provide(TestClock.layer()))))
// [ 3600000, 49, Infinity ]
