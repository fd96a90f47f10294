/** Actors that are woken more than once: one that looks until a time has come, and one whose wakes never end. */
import { Schema } from "effect"
import * as Actor from "../../../src/engine/Actor.ts"

const Watch = Schema.Struct({ from: Schema.Number, until: Schema.Number, everyMillis: Schema.Number })
const WatcherState = Schema.Struct({ watch: Schema.NullOr(Watch), seen: Schema.Array(Schema.Number) })

/** The times at which watchers were woken, by organization. */
export type Wakes = Map<string, Array<number>>

/** A kind of watchers: each looks from a time on, and again after each pause, until another time. Notes in `wakes` when it was woken. */
export const makeWatcher = (wakes: Wakes, options: { readonly leavesMemory?: "after its checkpoint" } = {}) =>
  Actor.make<
    { readonly watch: typeof Watch.Type } | { readonly watch: null },
    { readonly watch: typeof Watch.Type } | { readonly seenAt: number },
    typeof WatcherState.Type,
    ReadonlyArray<number>
  >({
    kind: "watcher",
    command: Schema.Union([Schema.Struct({ watch: Watch }), Schema.Struct({ watch: Schema.Null })]),
    fact: Schema.Union([Schema.Struct({ watch: Watch }), Schema.Struct({ seenAt: Schema.Number })]),
    state: WatcherState,
    reply: Schema.Array(Schema.Number),
    initial: () => ({ watch: null, seen: [] }),
    decide: ({ seen }, { watch }) =>
      watch === null ? Actor.decided({ reply: seen }) : Actor.decided({ facts: [{ watch }], reply: seen }),
    evolve: ({ seen }, fact) =>
      "watch" in fact ? { watch: fact.watch, seen } : { watch: null, seen: [...seen, fact.seenAt] },
    wakeAt: ({ watch }) => watch?.from,
    wake: ({ watch }, { now, self }) => {
      wakes.set(self.organization, [...(wakes.get(self.organization) ?? []), now])
      const { everyMillis, until } = watch!
      return now < until ? Actor.wakeAgain(now + everyMillis) : Actor.decided({ facts: [{ seenAt: now }] })
    },
    ...options
  })

/** Counts its wakes, whose facts leave the time where it is. */
export const Spinner = Actor.make<number, number, { readonly at: number; readonly turns: number }, number>({
  kind: "spinner",
  command: Schema.Number,
  fact: Schema.Number,
  state: Schema.Struct({ at: Schema.Number, turns: Schema.Number }),
  reply: Schema.Number,
  initial: () => ({ at: 0, turns: 0 }),
  decide: ({ turns }, at) => Actor.decided({ facts: [at], reply: turns }),
  evolve: ({ at, turns }, fact) => (fact === 0 ? { at, turns: turns + 1 } : { at: fact, turns }),
  wakeAt: ({ at }) => (at === 0 ? undefined : at),
  wake: () => Actor.decided({ facts: [0] })
})
