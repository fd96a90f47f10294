/**
 * Actors for what is large: a choir's command touches hundreds of singers, more than some deployments hold in memory, and a singer's state comes
 * close to the largest one that is taken, or is larger. Facts stay small, so that small logs take them.
 */
import { Schema } from "effect"
import * as Actor from "../../../src/engine/Actor.ts"

/** The most singers of one song, and how many of them remember it. */
const maximumSingers = 400
const rememberingSingers = 2

const SingerCommand = Schema.Struct({
  /** Different in every command, so that decisions can be told apart. No key: a repeat learns again. */
  name: Schema.String,
  length: Schema.Literals([0, 10, 3_000, 60_000, 65_400, 65_600, 70_000])
})
const SingerState = Schema.Struct({ songs: Schema.Number, verse: Schema.String })

/** Knows one verse, of as many characters as it was told. */
export const Singer = Actor.make<
  typeof SingerCommand.Type,
  { readonly name: string; readonly length: number },
  typeof SingerState.Type,
  number
>({
  kind: "singer",
  command: SingerCommand,
  fact: Schema.Struct({ name: Schema.String, length: Schema.Number }),
  state: SingerState,
  reply: Schema.Number,
  initial: () => ({ songs: 0, verse: "" }),
  decide: ({ songs }, { length, name }) => Actor.decided({ facts: [{ name, length }], reply: songs + 1 }),
  evolve: ({ songs }, { length }) => ({ songs: songs + 1, verse: "x".repeat(length) })
})

export const singerKey = (number: number): string => `s${number}`

const ChoirCommand = Schema.Struct({
  name: Schema.String,
  first: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 300 })),
  count: Schema.Int.check(Schema.isBetween({ minimum: 3, maximum: maximumSingers }))
})
type ChoirCommand = typeof ChoirCommand.Type

const singersOf = ({ count, first }: ChoirCommand): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, index) => singerKey(first + index))

/** Has no state. Looks at all of its singers; the first ones remember that they sang, and know no verse any more. */
export const Choir = Actor.makeStateless({
  kind: "choir",
  command: ChoirCommand,
  fact: Schema.Struct({ name: Schema.String, count: Schema.Number }),
  reply: Schema.Number,
  touches: (command) => singersOf(command).map((key) => Singer.at(key)),
  decide: (command, context) => {
    const keys = singersOf(command)
    const songs = keys.reduce((sum, key) => sum + context.read(Singer, key).songs, 0)
    const { count, name } = command
    return Actor.decided({
      facts: [{ name, count }],
      others: keys.slice(0, rememberingSingers).map((key) => Singer.facts(key, [{ name, length: 0 }])),
      reply: songs
    })
  }
})

export const choirCommands = { singer: SingerCommand, choir: ChoirCommand }
