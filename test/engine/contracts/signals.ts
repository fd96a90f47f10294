/** The contract of `Signals`, for every implementation. Each test takes organizations that no other one uses. */
import { assert, layer, type Vitest } from "@effect/vitest"
import { Context, Effect, Fiber, type Layer, type Scope, Stream } from "effect"
import { partitionOf } from "../../../src/engine/address.ts"
import type { Signals } from "../../../src/engine/ports/Signals.ts"
import { patienceMillis } from "../../support/patience.ts"

export class SignalsHarness extends Context.Service<
  SignalsHarness,
  {
    readonly partitions: number
    /** Opens the signals as a process of its own would; every call leads to the same ones. */
    readonly connect: Effect.Effect<Signals["Service"], never, Scope.Scope>
  }
>()("test/SignalsHarness") {}

let nextOrganization = 0

/** An organization that no other test uses, in the partition. */
const organizationIn = (partition: number, partitions: number): string => {
  while (true) {
    const organization = `org_${nextOrganization++}`
    if (partitionOf(organization, partitions) === partition) return organization
  }
}

const dataOf = (content: unknown): Uint8Array => Buffer.from(String(content))

const open = Effect.gen(function* () {
  const { connect, partitions } = yield* SignalsHarness
  const signals = yield* connect
  const organization = organizationIn(1 % partitions, partitions)
  const partition = 1 % partitions
  /** The organization's signals after a place, as many as are asked for. */
  const take = (after: number, count: number) =>
    signals.subscribe(partition, after).pipe(
      Stream.filter((signal) => signal.organization === organization),
      Stream.take(count),
      Stream.runCollect
    )
  const publish = (content: unknown, more: { readonly kind?: string; readonly id?: string } = {}) =>
    signals.publish({ organization, kind: more.kind ?? "bounce", data: dataOf(content), id: more.id })
  return { signals, partition, partitions, organization, take, publish }
})

const contents = (signals: ReadonlyArray<{ readonly data: Uint8Array }>) =>
  signals.map((signal) => Buffer.from(signal.data).toString())

export const signalsContract = <E>(name: string, harness: Layer.Layer<SignalsHarness, E>): void => {
  layer(harness, { excludeTestServices: true, timeout: patienceMillis })(`Signals: ${name}`, (it) => {
    cases(it)
  })
}

const cases = (it: Vitest.MethodsNonLive<SignalsHarness>): void => {
  it.effect("signals come in order, once each, as they were published", () =>
    Effect.gen(function* () {
      const { organization, publish, signals, take } = yield* open
      const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
      for (let index = 0; index < 20; index++) yield* publish(index, { kind: index % 2 === 0 ? "bounce" : "usage" })
      yield* signals.publish({ organization, kind: "raw", data: bytes })
      const found = yield* take(0, 21)
      assert.deepStrictEqual(
        contents(found.slice(0, 20)),
        Array.from({ length: 20 }, (_, index) => String(index))
      )
      assert.deepStrictEqual([found[0]?.kind, found[1]?.kind, found[20]?.kind], ["bounce", "usage", "raw"])
      assert.deepStrictEqual([...found[20]!.data], [...bytes])
      for (let index = 1; index < found.length; index++) {
        assert.isAbove(found[index]!.sequence, found[index - 1]!.sequence)
      }
      assert.isAtLeast(found[0]!.sequence, 1)
    })
  )

  it.effect("a subscription begins after the place it is given", () =>
    Effect.gen(function* () {
      const { publish, take } = yield* open
      for (let index = 0; index < 10; index++) yield* publish(index)
      const all = yield* take(0, 10)
      assert.deepStrictEqual(contents(yield* take(all[6]!.sequence, 3)), ["7", "8", "9"])
    })
  )

  it.effect("a subscriber waits for what is published later", () =>
    Effect.gen(function* () {
      const { publish, take } = yield* open
      yield* publish("first")
      const fiber = yield* Effect.forkScoped(take(0, 3))
      yield* publish("second")
      yield* publish("third")
      assert.deepStrictEqual(contents(yield* Fiber.join(fiber)), ["first", "second", "third"])
    })
  )

  it.effect("what is repeated with the same id is stored once; without an id, or with another, each time", () =>
    Effect.gen(function* () {
      const { organization, publish, take } = yield* open
      yield* publish("once", { id: `${organization}-1` })
      yield* publish("again", { id: `${organization}-1` })
      yield* publish("other", { id: `${organization}-2` })
      yield* publish("same")
      yield* publish("same")
      assert.deepStrictEqual(contents(yield* take(0, 4)), ["once", "other", "same", "same"])
    })
  )

  it.effect("a partition gets its own organizations' signals and no others", () =>
    Effect.gen(function* () {
      const { partitions, signals } = yield* open
      const organizations = Array.from({ length: partitions * 3 }, (_, index) =>
        organizationIn(index % partitions, partitions)
      )
      yield* Effect.forEach(organizations, (organization) =>
        signals.publish({ organization, kind: "usage", data: dataOf(organization) })
      )
      for (let partition = 0; partition < partitions; partition++) {
        const own = organizations.filter((organization) => partitionOf(organization, partitions) === partition)
        const found = yield* signals.subscribe(partition, 0).pipe(
          Stream.tap((signal) =>
            Effect.sync(() => assert.strictEqual(partitionOf(signal.organization, partitions), partition))
          ),
          Stream.filter((signal) => own.includes(signal.organization)),
          Stream.take(own.length),
          Stream.runCollect
        )
        assert.deepStrictEqual(contents(found), own)
      }
    })
  )

  it.effect("a slow subscriber gets everything in the end, and several do not disturb each other", () =>
    Effect.gen(function* () {
      const { publish, signals, partition, organization } = yield* open
      const count = 700
      yield* Effect.forEach(
        Array.from({ length: count }, (_, index) => index),
        (index) => publish(index),
        {
          concurrency: 1
        }
      )
      const slow = signals.subscribe(partition, 0).pipe(
        Stream.filter((signal) => signal.organization === organization),
        Stream.tap(() => Effect.yieldNow),
        Stream.take(count),
        Stream.runCollect
      )
      const all = yield* Effect.all([slow, slow], { concurrency: 2 })
      for (const found of all) {
        assert.deepStrictEqual(
          contents(found),
          Array.from({ length: count }, (_, index) => String(index))
        )
      }
    })
  )

  it.effect("an ended subscription lets others go on", () =>
    Effect.gen(function* () {
      const { publish, take } = yield* open
      const fiber = yield* Effect.forkScoped(take(0, 1000))
      yield* publish("a")
      yield* Fiber.interrupt(fiber)
      yield* publish("b")
      assert.deepStrictEqual(contents(yield* take(0, 2)), ["a", "b"])
    })
  )
}
