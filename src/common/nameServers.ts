/**
 * Queries name servers over sockets, because the system's resolver has a few threads that the whole process shares and
 * that a silent name server occupies for many seconds. Needs no service.
 */
import { Resolver } from "node:dns/promises"
import { Effect } from "effect"

/** How long a name server has for its answer at first and at most, and how often it is asked. In milliseconds. */
const serverMillis = 1_000
const maximumServerMillis = 2_000
const tries = 2

/** Codes with which a name server says that there is no such name, or no record of it. */
const absent: ReadonlySet<unknown> = new Set(["ENOTFOUND", "ENODATA"])

/** `None`: there is no such record. `Unknown`: nobody could say. */
export type NameAnswer<A> =
  | { readonly _tag: "Found"; readonly value: A }
  | { readonly _tag: "None" }
  | { readonly _tag: "Unknown" }

const answerOf = <A>(settled: PromiseSettledResult<A>): NameAnswer<A> => {
  if (settled.status === "fulfilled") return { _tag: "Found", value: settled.value }
  return { _tag: absent.has(settled.reason.code) ? "None" : "Unknown" }
}

/** Asks several questions concurrently, and returns the answers in order. */
export type AskNameServers = <A>(
  questions: (resolver: Resolver) => ReadonlyArray<Promise<A>>
) => Effect.Effect<ReadonlyArray<NameAnswer<A>>>

/**
 * Name servers as `address:port`; by default those of the system, read again when they do not answer, because a machine
 * may have moved to another network.
 */
export const makeNameServers = (servers?: ReadonlyArray<string>): AskNameServers => {
  const make = () => {
    const resolver = new Resolver({ timeout: serverMillis, maxTimeout: maximumServerMillis, tries })
    if (servers !== undefined) resolver.setServers(servers)
    return resolver
  }
  let current = make()
  return (questions) =>
    Effect.map(
      Effect.promise(() => Promise.allSettled(questions(current))),
      (settled) => {
        const answers = settled.map(answerOf)
        const isUnanswered = answers.every(({ _tag }) => _tag !== "Found")
        if (isUnanswered && answers.some(({ _tag }) => _tag === "Unknown")) current = make()
        return answers
      }
    )
}
