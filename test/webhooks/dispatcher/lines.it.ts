/**
 * Deliveries of a line go one after the other on the real PostgreSQL and nats-server, also where the process changes
 * (docs/platform.md, 7.10).
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { answering, hanging, type Receiver, startReceiver } from "../receiver.ts"
import { until } from "../until.ts"
import { deploy, type Process, settings, startProcess } from "./dispatchSupport.ts"

const orderedBy = (process: Process, receiver: Receiver, key: string) =>
  process.organization("org_1").ask("we_1", {
    _tag: "Create",
    url: receiver.url("/hook"),
    enabledEvents: ["telco.*"],
    description: null,
    secretId: "we_1-secret",
    ordering: { key },
    targets: "any"
  })

/** The numbers of the events that have arrived, in order. */
const arrived = (receiver: Receiver): ReadonlyArray<number> =>
  receiver.of("/hook").map(({ body }) => Number(/"rateCenter":"number (\d+)"/.exec(body)![1]))

const upTo = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, number) => number)

describe("a line", () => {
  it.live("[platform 7.10] waits for the retries of its first delivery, and another line goes on", () =>
    Effect.gen(function* () {
      const receiver = yield* startReceiver
      const process = yield* startProcess(yield* deploy)
      const organization = process.organization("org_1")
      yield* orderedBy(process, receiver, "filters.rateCenter")
      yield* organization.create("we_2", receiver.url("/other"))
      receiver.answer("/hook", (response, { body }, count) =>
        response.writeHead(body.includes('"number 0"') && count < 3 ? 500 : 200).end()
      )
      yield* organization.emit(3)
      yield* organization.settled("we_1", 3)
      // Each event has a line of its own here: none waits for the first one.
      assert.sameMembers(arrived(receiver).slice(0, 3), [0, 1, 2])
    })
  )

  it.live("[platform 7.10] of the whole organization keeps its order over failures, and a restart in the middle", () =>
    Effect.gen(function* () {
      const receiver = yield* startReceiver
      const deployment = yield* deploy
      const first = yield* startProcess(deployment)
      yield* orderedBy(first, receiver, "organization")
      receiver.answer("/hook", (response, _, count) => response.writeHead(count % 3 === 0 ? 503 : 200).end())
      yield* first.organization("org_1").emit(10)
      yield* until(Effect.sync(() => receiver.of("/hook").length >= 4))
      yield* first.stop
      const second = yield* startProcess(deployment)
      yield* second.organization("org_1").emit(10)
      yield* second.organization("org_1").settled("we_1", 20)
      const numbers = arrived(receiver)
      // A repeat or a retry shows the same number again; none comes back once a later one has come.
      assert.deepStrictEqual([...new Set(numbers)], upTo(20))
      assert.deepStrictEqual(
        numbers,
        numbers.toSorted((one, other) => one - other)
      )
      assert.strictEqual(receiver.mostAtOnce("/hook"), 1)
    })
  )

  it.live("[platform 7.10] whose process dies in an attempt is repeated from there, in order", () =>
    Effect.gen(function* () {
      const receiver = yield* startReceiver
      const deployment = yield* deploy
      receiver.answer("/hook", hanging)
      const first = yield* startProcess(deployment, { settings: { drainMillis: 1, leaseMillis: 2_000 } })
      yield* orderedBy(first, receiver, "organization")
      yield* first.organization("org_1").emit(5)
      yield* until(Effect.sync(() => receiver.of("/hook").length === 1))
      yield* first.stop
      receiver.answer("/hook", answering(200))
      const second = yield* startProcess(deployment, { settings: { schedule: settings.schedule } })
      yield* second.organization("org_1").settled("we_1", 5)
      assert.deepStrictEqual(arrived(receiver), [0, ...upTo(5)])
    })
  )
})
