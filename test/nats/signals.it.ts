/** Signals on JetStream: the contract, the server's partition against the engine's, and what an operator may find. */
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Random, Stream } from "effect"
import { isSubjectToken, partitionOf } from "../../src/engine/address.ts"
import { maximumSignalBytes } from "../../src/engine/ports/Signals.ts"
import * as SignalsJetStream from "../../src/nats/SignalsJetStream.ts"
import { SignalsHarness, signalsContract } from "../engine/contracts/signals.ts"
import { patienceMillis } from "../support/patience.ts"
import { connectTo, eventually, maximumBytes } from "./jetStreamSupport.ts"
import { oneServer } from "./natsServers.ts"

const signalsOn = (url: string, options: SignalsJetStream.SignalsOptions) =>
  Effect.flatMap(connectTo(url), ({ client }) => SignalsJetStream.make(client, { maximumBytes, ...options }))

signalsContract(
  "JetStream",
  Layer.effect(
    SignalsHarness,
    Effect.map(oneServer(), ({ url }) =>
      SignalsHarness.of({
        partitions: 8,
        connect: Effect.orDie(signalsOn(url, { partitions: 8 }))
      })
    )
  )
)

class Server extends Context.Service<Server, { readonly url: string }>()("test/Server") {}

const bounce = (organization: string, content: string) => ({
  organization,
  kind: "bounce",
  data: Buffer.from(content)
})

/** Organizations as the platform makes them, and any others that may be a subject's word. */
const randomOrganization = Effect.gen(function* () {
  const alphabet = (yield* Random.nextBoolean)
    ? "0123456789abcdefghijklmnopqrstuvwxyz"
    : Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index))
        .filter(isSubjectToken)
        .join("")
  const length = yield* Random.nextIntBetween(1, 40)
  let name = "org_"
  for (let index = 0; index < length; index++) {
    name += alphabet[yield* Random.nextIntBetween(0, alphabet.length - 1)]
  }
  return name
})

layer(
  Layer.effect(
    Server,
    Effect.map(oneServer(), ({ url }) => Server.of({ url }))
  ),
  { excludeTestServices: true, timeout: patienceMillis }
)("signals on JetStream", (it) => {
  for (const partitions of [1, 2, 7, 8, 64, 1000]) {
    it.effect(`the server stores signals in the partition that the engine computes, of ${partitions}`, () =>
      Effect.gen(function* () {
        const { url } = yield* Server
        const { client } = yield* connectTo(url)
        const namespace = `p${partitions}`
        const signals = yield* signalsOn(url, { partitions, namespace })
        const organizations = yield* Effect.forEach(Array.from({ length: 300 }), () => randomOrganization)
        yield* Effect.forEach(organizations, (organization) => signals.publish(bounce(organization, "x")), {
          concurrency: 32
        })
        const answer = yield* Effect.promise(() =>
          client.request(`$JS.API.STREAM.INFO.${namespace}-signals`, JSON.stringify({ subjects_filter: ">" }), {
            timeout: patienceMillis
          })
        )
        const { state } = answer.json<{ state: { subjects: Readonly<Record<string, number>> } }>()
        const stored = Object.keys(state.subjects)
        assert.strictEqual(stored.length, new Set(organizations).size)
        const expected = organizations.map(
          (organization) => `${namespace}.signals.${partitionOf(organization, partitions)}.${organization}.bounce`
        )
        assert.deepStrictEqual(stored.sort(), [...new Set(expected)].sort())
      })
    )
  }

  it.effect("a relay that publishes by itself, without this library, is heard", () =>
    Effect.gen(function* () {
      const { url } = yield* Server
      const { client } = yield* connectTo(url)
      const signals = yield* signalsOn(url, { partitions: 4, namespace: "relay" })
      yield* Effect.promise(() => client.request("relay.signal.org_7.complaint", "{}", { timeout: patienceMillis }))
      const found = yield* signals.subscribe(partitionOf("org_7", 4), 0).pipe(Stream.take(1), Stream.runCollect)
      assert.deepStrictEqual([found[0]?.organization, found[0]?.kind], ["org_7", "complaint"])
    })
  )

  it.effect("a deployment with another number of partitions is refused and told the right one", () =>
    Effect.gen(function* () {
      const { url } = yield* Server
      yield* signalsOn(url, { partitions: 8, namespace: "fixed" })
      const error = yield* Effect.flip(signalsOn(url, { partitions: 16, namespace: "fixed" }))
      assert.strictEqual(error._tag, "SignalsRefused")
      assert.match(error.message, /was made for 8 partitions.*start with 8/)
      yield* signalsOn(url, { partitions: 8, namespace: "fixed" })
    })
  )

  it.effect("what cannot be a signal is refused in words, and stores nothing", () =>
    Effect.gen(function* () {
      const { url } = yield* Server
      const signals = yield* signalsOn(url, { partitions: 1, namespace: "bad" })
      for (const organization of ["", "a.b", "a b", "*", ">", "ö"]) {
        const error = yield* Effect.flip(signals.publish(bounce(organization, "x")))
        assert.match(error.message, /one word/)
      }
      const large = { organization: "org", kind: "raw", data: new Uint8Array(maximumSignalBytes + 1) }
      assert.match((yield* Effect.flip(signals.publish(large))).message, /larger than/)
      yield* signals.publish({ ...large, data: new Uint8Array(maximumSignalBytes) })
      const found = yield* signals.subscribe(0, 0).pipe(Stream.take(1), Stream.runCollect)
      assert.strictEqual(found[0]?.data.length, maximumSignalBytes)
    })
  )

  it.effect("a full store refuses publishers and keeps what nobody has taken in; forgetting makes room", () =>
    Effect.gen(function* () {
      const { url } = yield* Server
      const options = { partitions: 2, namespace: "full", maximumBytes: 300_000 }
      const signals = yield* signalsOn(url, options)
      const [own, other] = ["org_a", "org_b", "org_c", "org_d"].reduce<[string, string]>(
        (pair, name) => (partitionOf(name, 2) === 0 ? [name, pair[1]] : [pair[0], name]),
        ["", ""]
      )
      yield* signals.publish(bounce(other, "stays"))
      const large = { organization: own, kind: "raw", data: new Uint8Array(50_000) }
      const published = yield* Effect.repeat(
        Effect.match(signals.publish(large), { onFailure: (error) => error.message, onSuccess: () => "" }),
        { until: (failure) => failure !== "" }
      )
      assert.match(published, /maximum bytes exceeded/)
      const first = yield* signals.subscribe(0, 0).pipe(Stream.take(1), Stream.runCollect)
      yield* signals.forget(0, first[0]!.sequence)
      yield* signals.publish(large)
      const next = yield* signals.subscribe(0, 0).pipe(Stream.take(1), Stream.runCollect)
      assert.strictEqual(next[0]!.sequence, first[0]!.sequence + 1)
      for (const through of [0, -1, Number.NaN]) yield* signals.forget(0, through)
      yield* signals.forget(0, 1_000_000)
      yield* signals.publish(bounce(own, "goes on"))
      const after = yield* signals.subscribe(0, 0).pipe(Stream.take(1), Stream.runCollect)
      assert.strictEqual(Buffer.from(after[0]!.data).toString(), "goes on")
      assert.isBelow(after[0]!.sequence, 100)
      const kept = yield* signals.subscribe(1, 0).pipe(Stream.take(1), Stream.runCollect)
      assert.strictEqual(Buffer.from(kept[0]!.data).toString(), "stays")
    })
  )

  it.effect("a stream that was made anew is not mistaken for one without new signals", () =>
    Effect.gen(function* () {
      const { url } = yield* Server
      const signals = yield* signalsOn(url, { partitions: 1, namespace: "anew" })
      yield* signals.publish(bounce("org", "1"))
      const error = yield* Effect.flip(Stream.runDrain(signals.subscribe(0, 7)))
      assert.match(error.message, /ends at 1, but partition 0 has processed signals up to 7.*--seq=8/)
    })
  )
})

describe("signals on a server that goes away", () => {
  it.live("a subscription ends with an error, and a new one goes on where it was", () =>
    Effect.gen(function* () {
      const server = yield* oneServer()
      const signals = yield* signalsOn(server.url, { partitions: 1 })
      yield* signals.publish(bounce("org", "1"))
      let last = 0
      const fiber = yield* Effect.forkScoped(
        Stream.runForEach(signals.subscribe(0, 0), (signal) =>
          Effect.sync(() => {
            last = signal.sequence
          })
        )
      )
      yield* eventually(
        Effect.filterOrFail(
          Effect.sync(() => last),
          (at) => at === 1,
          () => "not yet" as const
        )
      )
      yield* server.kill
      const error = yield* Effect.flip(Fiber.join(fiber))
      assert.strictEqual(error._tag, "SignalsUnavailable")
      assert.strictEqual((yield* Effect.flip(signals.publish(bounce("org", "lost"))))._tag, "SignalsUnavailable")
      yield* server.start
      yield* eventually(signals.publish(bounce("org", "2")))
      const found = yield* eventually(signals.subscribe(0, last).pipe(Stream.take(1), Stream.runCollect))
      assert.strictEqual(Buffer.from(found[0]!.data).toString(), "2")
    })
  )
})
