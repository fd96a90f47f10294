/**
 * Plans the faults of each round, from the seed alone. A round has a fault of the process that owns the partitions and a fault of a
 * server, at the same time or one after the other; each kind comes once before any comes again.
 */
import { Effect, Random } from "effect"

/** How the stopped owner loses the lock of the partitions, so that a second one may start. */
const lockLosses = ["session ended", "PostgreSQL killed"] as const

/** What happens to the first owner when it goes on and finds that there is a second one. */
const afterwards = ["first owner killed", "second owner killed"] as const

/**
 * How the first owner comes upon the second. Busy: by frames that were under way. Idle: by a look, for which it asks the log first. Blind: by
 * a look while the log does not answer, so that only the age of its last confirmation keeps it from showing what is stale.
 */
const moments = ["busy", "idle", "blind"] as const

export type ProcessFault =
  /** SIGKILL, and another one starts. */
  | { readonly _tag: "KillOwner" }
  /** SIGSTOP for longer than every timeout, and it goes on. */
  | { readonly _tag: "PauseOwner" }
  /** The same, and meanwhile a second owner starts and takes over. */
  | {
      readonly _tag: "ReplaceOwner"
      readonly moment: (typeof moments)[number]
      readonly lockLoss: (typeof lockLosses)[number]
      readonly afterwards: (typeof afterwards)[number]
    }

export type ServerFault =
  | { readonly _tag: "KillNats" }
  /** SIGSTOP for longer than every timeout. */
  | { readonly _tag: "PauseNats" }
  | { readonly _tag: "KillPostgres" }
  /** SIGSTOP for minutes: it refuses nothing and answers nothing, and what is in memory must go on. */
  | { readonly _tag: "HangPostgres" }

export interface Round {
  readonly process: ProcessFault
  readonly server: ServerFault
  /** Which comes first; `together` for both at once. */
  readonly order: "process first" | "server first" | "together"
}

const processKinds = ["KillOwner", "PauseOwner", "ReplaceOwner"] as const
const serverKinds = ["KillNats", "PauseNats", "KillPostgres"] as const

/** One round in so many has a PostgreSQL that hangs, beginning with the tenth. */
const hangEvery = 20
const firstHang = 9

const orders = ["process first", "server first", "together"] as const

/** Kinds in random order, each once before any comes again. */
const dealt = <A>(kinds: ReadonlyArray<A>, count: number) =>
  Effect.gen(function* () {
    const cards: Array<A> = []
    while (cards.length < count) cards.push(...(yield* Random.shuffle(kinds)))
    return cards.slice(0, count)
  })

/** The plan of a run. Draws from the `Random` of its context. */
export const planOf = Effect.fnUntraced(function* (rounds: number) {
  const processes = yield* dealt(processKinds, rounds)
  const servers = yield* dealt(serverKinds, rounds)
  const order = yield* dealt(orders, rounds)
  const replacements = yield* dealt(
    moments.flatMap((moment) =>
      lockLosses.flatMap((lockLoss) => afterwards.map((afterwards) => ({ moment, lockLoss, afterwards })))
    ),
    rounds
  )
  return processes.map((kind, index): Round => {
    const process = kind === "ReplaceOwner" ? { _tag: kind, ...replacements[index]! } : { _tag: kind }
    if (index % hangEvery === firstHang) return { process, server: { _tag: "HangPostgres" }, order: "process first" }
    return { process, server: { _tag: servers[index]! }, order: order[index]! }
  })
})

/** A round for people. */
export const describeRound = ({ order, process, server }: Round): string => {
  const first =
    process._tag === "ReplaceOwner"
      ? `${process._tag} (${process.moment}; ${process.lockLoss}; ${process.afterwards})`
      : process._tag
  switch (order) {
    case "process first":
      return `${first}, then ${server._tag}`
    case "server first":
      return `${server._tag}, then ${first}`
    case "together":
      return `${first} and ${server._tag}`
  }
}
