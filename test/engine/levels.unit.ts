/**
 * The level of formats that placement announces decides what a rule may write, from the drain on in which it has risen. Until then a program of the version before
 * can take the partition, with its frames and its checkpoints.
 */
import { type Context, Effect, Layer, Schema, type Scope } from "effect"
import { describe, expect, it } from "vitest"
import * as Actor from "../../src/engine/Actor.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as CheckpointsMemory from "../../src/engine/memory/CheckpointsMemory.ts"
import * as CursorsMemory from "../../src/engine/memory/CursorsMemory.ts"
import * as JournalMemory from "../../src/engine/memory/JournalMemory.ts"
import type { Checkpoints } from "../../src/engine/ports/Checkpoints.ts"
import type { Cursors } from "../../src/engine/ports/Cursors.ts"
import type { Journal } from "../../src/engine/ports/Journal.ts"
import { layerLocal, Placement } from "../../src/engine/ports/Placement.ts"

const command = Schema.Struct({ note: Schema.String, loud: Schema.Boolean })

/** Version 1: texts. */
const Older = Actor.make({
  kind: "notes",
  command,
  fact: Schema.String,
  state: Schema.Array(Schema.String),
  reply: Schema.Array(Schema.String),
  initial: () => [],
  evolve: (state, note) => [...state, note],
  decide: (state, { note }) => Actor.decided({ facts: [note], reply: [...state, note] })
})

interface Note {
  readonly text: string
  readonly isLoud: boolean
}
const Note = Schema.Struct({ text: Schema.String, isLoud: Schema.Boolean })
const text = (encoded: unknown): string => (encoded as Note).text
const quiet = (encoded: unknown): Note => ({ text: encoded as string, isLoud: false })

/** Version 2: a note may be loud. `mayBeLoud` is what its rule makes of the level. */
const newer = (mayBeLoud: (level: number) => boolean) =>
  Actor.make<typeof command.Type, Note, ReadonlyArray<Note>, ReadonlyArray<string>>({
    kind: "notes",
    version: 2,
    command,
    fact: Note,
    state: Schema.Array(Note),
    reply: Schema.Array(Schema.String),
    initial: () => [],
    evolve: (state, note) => [...state, note],
    decide: (state, { loud, note }, { level }) => {
      const made = { text: note, isLoud: loud && mayBeLoud(level) }
      return Actor.decided({
        facts: [made],
        reply: [...state, made].map(({ isLoud, text }) => (isLoud ? `${text}!` : text))
      })
    },
    upcastFact: { 1: quiet },
    upcastState: { 1: (state) => (state as ReadonlyArray<unknown>).map(quiet) },
    since: { level: 5, fact: text, state: (state) => (state as ReadonlyArray<unknown>).map(text) }
  })
const Newer = newer((level) => level >= 5)

type Ports = Context.Context<Journal | Checkpoints | Cursors>

/** Has an actor's engine take the partition, and ask it. A checkpoint is written when it ends. */
const ask = (
  ports: Ports,
  actor: typeof Older | typeof Newer,
  level: () => number,
  ...notes: ReadonlyArray<{ readonly note: string; readonly loud: boolean }>
) =>
  Effect.gen(function* () {
    const engine = yield* Engine.Engine
    yield* engine.ready
    let reply: ReadonlyArray<string> = []
    for (const note of notes) reply = yield* engine.ask(actor as typeof Newer, { organization: "org_1" }, note)
    return reply
  }).pipe(
    Effect.provide(
      Engine.layer({ actors: [actor], config: { partitions: 1 } }).pipe(
        Layer.provide(
          Layer.effect(
            Placement,
            Effect.map(Placement, (local) => Placement.of({ ...local, level }))
          ).pipe(Layer.provide(layerLocal))
        ),
        Layer.provide(Layer.succeedContext(ports))
      )
    ),
    Effect.timeout("20 seconds")
  )

const onPorts = <A, E>(body: (ports: Ports) => Effect.Effect<A, E, Scope.Scope>) =>
  Effect.runPromise(
    Effect.scoped(
      Effect.flatMap(
        Layer.build(Layer.mergeAll(JournalMemory.layer, CheckpointsMemory.layer, CursorsMemory.layer)),
        body
      )
    )
  )

const loud = (note: string) => ({ note, loud: true })

describe("the level of formats", () => {
  it("is told to rules, and holds back the form of a new version, which an older program could not read", async () => {
    await onPorts((ports) =>
      Effect.gen(function* () {
        let inForce = 4
        const level = () => inForce
        expect(yield* ask(ports, Newer, level, loud("a"))).toEqual(["a"])
        // Whatever was left in the log and in the checkpoint: an older program goes on with it, and the newer one after it.
        expect(yield* ask(ports, Older, level, loud("b"))).toEqual(["a", "b"])
        expect(yield* ask(ports, Newer, level, loud("c"))).toEqual(["a", "b", "c"])
        inForce = 5
        expect(yield* ask(ports, Newer, level, loud("d"))).toEqual(["a", "b", "c", "d!"])
        expect(yield* Effect.flip(ask(ports, Older, level, loud("e")))).toBeDefined()
        expect(yield* ask(ports, Newer, level, loud("f"))).toEqual(["a", "b", "c", "d!", "f!"])
      })
    )
  })

  it("rises in the middle of a life, from the next decision on", async () => {
    await onPorts((ports) =>
      Effect.gen(function* () {
        let looks = 0
        const level = () => (looks++ < 3 ? 4 : 5)
        const replies = yield* ask(ports, Newer, level, ...["a", "b", "c", "d", "e", "f"].map(loud))
        expect(replies[0]).toBe("a")
        expect(replies.at(-1)).toBe("f!")
        expect(replies.join(" ")).toMatch(/^[a-f](?: [a-f])*(?: [a-f]!)+$/)
      })
    )
  })

  it("refuses a decision whose rule did not ask for it, and stores nothing that would be read as something else", async () => {
    await onPorts((ports) =>
      Effect.gen(function* () {
        const careless = newer(() => true)
        const error = yield* Effect.flip(ask(ports, careless, () => 4, loud("a")))
        expect(error).toMatchObject({
          _tag: "CommandFailed",
          reason: expect.stringContaining("its version 1 cannot say, before formats of level 5")
        })
        expect(yield* ask(ports, careless, () => 4, { note: "b", loud: false })).toEqual(["b"])
      })
    )
  })

  it("is every one where placement knows of no older program", async () => {
    const replies = await Effect.runPromise(
      Effect.gen(function* () {
        const engine = yield* Engine.Engine
        return yield* engine.ask(Newer, { organization: "org_1" }, loud("a"))
      }).pipe(Effect.provide(Engine.layerMemory({ actors: [Newer] })))
    )
    expect(replies).toEqual(["a!"])
  })
})
