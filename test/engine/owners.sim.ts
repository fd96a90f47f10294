/**
 * Several owners of one partition, asked from another process over a transport that loses, delays and repeats, while placement is wrong for a
 * while and owners stand still. Whatever a caller is told must be true in the end: what was accepted is in the log once, and what was said not to
 * be stored is nowhere.
 */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, type Exit, Layer } from "effect"
import { TestClock } from "effect/testing"
import { decodeFrame } from "../../src/engine/frame.ts"
import * as RemoteMemory from "../../src/engine/memory/RemoteMemory.ts"
import { Placement } from "../../src/engine/Placement.ts"
import { Remote } from "../../src/engine/Remote.ts"
import { Counter } from "./support/actors.ts"
import { makeDeployment, start } from "./support/deployment.ts"

const seeds = Number(process.env.SLUICE_OWNERS_SEEDS ?? 20)
const stepMillis = 50
const steps = 300

/** Draws by a seed (mulberry32). */
const drawing = (seed: number) => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  return { chance: (part: number) => next() < part, below: (bound: number) => Math.floor(next() * bound) }
}

/** Stands for a message that was lost: nobody takes it for an answer. */
const lost: Uint8Array = Buffer.from("lost")

/** What a caller was told of a note. */
type Told = { readonly text: string; exit: Exit.Exit<unknown, unknown> | undefined }

/** One scenario; answers what was told and what the log holds. */
const play = (seed: number) =>
  Effect.gen(function* () {
    const draw = drawing(seed)
    const deployment = makeDeployment()
    const store = RemoteMemory.makeStore()
    let areFaulty = true
    const later = <A>(value: A) =>
      Effect.suspend(() =>
        areFaulty && draw.chance(0.3) ? Effect.as(Effect.sleep(draw.below(900)), value) : Effect.succeed(value)
      )

    /** An owner over the transport's faults. */
    const owner = Effect.gen(function* () {
      const remote = RemoteMemory.make(store)
      let owns = true
      let thawed: Deferred.Deferred<void> | undefined
      const serve: Remote["Service"]["serve"] = (partition, handle) =>
        remote.serve(partition, (payload) =>
          Effect.gen(function* () {
            const given = yield* later(payload)
            if (thawed !== undefined) yield* Deferred.await(thawed)
            if (areFaulty && draw.chance(0.05)) return lost
            const answer = yield* later(yield* handle(given))
            return areFaulty && draw.chance(0.05) ? lost : answer
          })
        )
      yield* start(deployment, {
        remoteLayer: Layer.succeed(Remote, Remote.of({ ...remote, serve })),
        placementLayer: Layer.succeed(
          Placement,
          Placement.of({
            place: (_partitions, serve) => Effect.asVoid(Effect.forkScoped(serve(0), { startImmediately: true })),
            owns: () => Effect.sync(() => owns)
          })
        )
      })
      return {
        lose: () => {
          owns = false
        },
        freeze: () => {
          thawed ??= Deferred.makeUnsafe()
        },
        thaw: Effect.suspend(() => {
          const was = thawed
          thawed = undefined
          return was === undefined ? Effect.void : Deferred.succeed(was, undefined)
        })
      }
    })

    const { engine: far } = yield* start(deployment, {
      remoteLayer: RemoteMemory.layerOf(store),
      placementLayer: Layer.succeed(
        Placement,
        Placement.of({ place: () => Effect.void, owns: () => Effect.succeed(false) })
      )
    })
    const turns = Effect.forEach(Array.from({ length: 30 }), () => Effect.yieldNow, { discard: true })
    const step = Effect.andThen(TestClock.adjust(stepMillis), turns)
    const owners = [yield* owner]
    const told: Array<Told> = []
    const ask = () => {
      const one: Told = { text: `note ${told.length}`, exit: undefined }
      told.push(one)
      const asked = far.ask(
        Counter,
        { organization: "org_1", key: `k${told.length}` },
        { _tag: "Note", text: one.text }
      )
      return Effect.forkChild(
        Effect.onExit(asked, (exit) =>
          Effect.sync(() => {
            one.exit = exit
          })
        ),
        { startImmediately: true }
      )
    }
    for (let at = 0; at < steps; at++) {
      if (draw.chance(0.3)) yield* ask()
      const newest = owners.at(-1)!
      if (draw.chance(0.02)) newest.freeze()
      if (draw.chance(0.04)) yield* newest.thaw
      if (owners.length < 4 && draw.chance(0.015)) {
        owners.push(yield* owner)
        // Both believe to own it for a while.
        const before = newest
        yield* Effect.forkChild(Effect.andThen(Effect.sleep(draw.below(2_000)), Effect.sync(before.lose)))
      }
      yield* step
    }
    areFaulty = false
    for (const one of owners) yield* one.thaw
    for (let at = 0; at < 400; at++) yield* step
    const frames = deployment.journal.log(0).frames.map(({ bytes }) => decodeFrame(bytes))
    const stored = frames.flatMap(({ records }) =>
      records.map(({ fact }) => (fact as { readonly text?: string } | undefined)?.text ?? "")
    )
    return { told, stored, epochs: frames.map(({ epoch }) => epoch) }
  })

describe("several owners of one partition", () => {
  it.effect(`tell nothing that is not true, in ${seeds} scenarios`, () =>
    Effect.gen(function* () {
      const reached = { accepted: 0, refused: 0, unknown: 0 }
      for (let seed = 1; seed <= seeds; seed++) {
        const { epochs, stored, told } = yield* Effect.scoped(play(seed))
        const wrong: Array<string> = []
        for (const { exit, text } of told) {
          const times = stored.filter((one) => one === text).length
          if (times > 1) wrong.push(`${text} is stored ${times} times`)
          if (exit === undefined) {
            wrong.push(`${text} was never answered`)
          } else if (exit._tag === "Success") {
            reached.accepted++
            if (times !== 1) wrong.push(`${text} was accepted and is not stored`)
          } else {
            const [reason] = exit.cause.reasons
            const error = (reason as { readonly error?: { readonly _tag: string; readonly retryable: boolean } }).error
            if (error?.retryable === true) {
              reached.refused++
              if (times > 0) wrong.push(`${text} is stored, and ${error._tag} said that it is not`)
            } else reached.unknown++
          }
        }
        if (epochs.some((epoch, index) => index > 0 && epoch < epochs[index - 1]!)) wrong.push(`epochs: ${epochs}`)
        expect({ seed, wrong }).toEqual({ seed, wrong: [] })
      }
      // What was to be seen through has happened.
      expect(reached.accepted).toBeGreaterThan(seeds * 20)
      expect(reached.refused).toBeGreaterThan(seeds)
      expect(reached.unknown).toBeGreaterThan(0)
    })
  )
})
