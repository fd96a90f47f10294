/**
 * Looks names up so that no organization delays another. Each organization has slots of its own, each host has one
 * look-up at a time, and a known answer is given immediately while it is checked again. Needs no service.
 */
import { Cache, Clock, Data, Duration, Effect, Exit, Option } from "effect"
import { makeBulkhead } from "../../common/Bulkhead.ts"
import { type AskNameServers, makeNameServers } from "../../common/nameServers.ts"
import type { Resolve, ResolvedAddress } from "./addresses.ts"
import { localAddresses, type ReadHosts, systemHosts } from "./hosts.ts"

/** Concurrent look-ups, over all organizations and of each. */
const maximumLookups = 256
const maximumLookupsOfOrganization = 8

/** Hosts that are remembered. */
const maximumRemembered = 10_000

/** How long an attempt waits for its address, its turn included. */
const waitMillis = 5_000

/** An answer is good for the time that its name server gives, within these bounds. In milliseconds. */
const shortestAnswerMillis = 5_000
const longestAnswerMillis = 300_000

/**
 * How long an answer may be used while it cannot be checked, and how long a failure is not tried again. In
 * milliseconds.
 */
const staleMillis = 3_600_000
const failureMillis = 5_000

/** A host without an address. `code` is that of the system's resolver. See {@link makeTargetGuard}. */
export class NameNotFound extends Data.TaggedError("NameNotFound")<{
  readonly host: string
  /** `ENOTFOUND`: there is none. `EAI_AGAIN`: no server could say. */
  readonly code: "ENOTFOUND" | "EAI_AGAIN"
}> {}

/** An address that a name server knows, and for how long, in seconds. */
interface Found extends ResolvedAddress {
  readonly ttl: number
}

interface Known {
  readonly addresses: ReadonlyArray<ResolvedAddress>
  /** When it is to be checked again. */
  readonly freshUntil: number
  /** When it may not be used any more. */
  readonly usableUntil: number
}

export interface TargetNamesOptions {
  /** Name servers, as `address:port`; by default those of the system. */
  readonly servers?: ReadonlyArray<string> | undefined
  /** Hosts that need no name server; by default those of the system's file. */
  readonly hosts?: ReadHosts | undefined
}

/** Finds the addresses of hosts. See {@link makeTargetGuard}. */
export interface TargetNames {
  /** The addresses of a host; the look-up counts against an organization. */
  readonly find: (host: string, organizationId: string) => Effect.Effect<ReadonlyArray<ResolvedAddress>, NameNotFound>
  /** The same outside of fibers, for connections whose host `find` has just found. */
  readonly resolve: Resolve
}

/** Asks the name servers for both families. One that has an answer is enough. */
const askForAddresses = (ask: AskNameServers, host: string): Effect.Effect<ReadonlyArray<Found>, NameNotFound> =>
  Effect.flatMap(
    ask((resolver) => [resolver.resolve4(host, { ttl: true }), resolver.resolve6(host, { ttl: true })]),
    (answers) => {
      const found = answers.flatMap((answer, at) =>
        answer._tag === "Found" ? answer.value.map((one) => ({ ...one, family: at === 0 ? 4 : 6 })) : []
      )
      if (found.length > 0) return Effect.succeed(found)
      const isAbsent = answers.every(({ _tag }) => _tag !== "Unknown")
      return Effect.fail(new NameNotFound({ host, code: isAbsent ? "ENOTFOUND" : "EAI_AGAIN" }))
    }
  )

const knownOf = (found: ReadonlyArray<Found>, now: number): Known => {
  const millis = Math.min(...found.map(({ ttl }) => ttl)) * 1000
  return {
    addresses: found.map(({ address, family }) => ({ address, family })),
    freshUntil: now + Math.min(longestAnswerMillis, Math.max(shortestAnswerMillis, millis)),
    usableUntil: now + staleMillis
  }
}

export const makeNames = ({ hosts = systemHosts, servers }: TargetNamesOptions = {}): TargetNames => {
  const ask = makeNameServers(servers)
  const inPlace = makeBulkhead({ total: maximumLookups, ofOrganization: maximumLookupsOfOrganization })
  const lookUp = (host: string) =>
    Effect.flatMap(askForAddresses(ask, host), (found) =>
      Effect.map(Clock.currentTimeMillis, (now) => knownOf(found, now))
    )
  const cache = Effect.runSync(
    Cache.makeWith(lookUp, {
      capacity: maximumRemembered,
      timeToLive: (exit) => Duration.millis(Exit.isSuccess(exit) ? staleMillis : failureMillis)
    })
  )
  const checking = new Set<string>()

  /** Asks again. While no server can say, the previous answer is used. */
  const check = (host: string, known: Known) =>
    lookUp(host).pipe(
      Effect.matchEffect({
        onSuccess: (answer) => Cache.set(cache, host, answer),
        onFailure: ({ code }) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) =>
            code === "ENOTFOUND" || now >= known.usableUntil
              ? Cache.invalidate(cache, host)
              : Cache.set(cache, host, { ...known, freshUntil: now + failureMillis })
          )
      }),
      Effect.ensuring(Effect.sync(() => checking.delete(host)))
    )

  const find: TargetNames["find"] = Effect.fnUntraced(function* (host, organizationId) {
    const local = localAddresses(host, hosts())
    if (local !== undefined) return local
    const known = Option.getOrUndefined(yield* Cache.getSuccess(cache, host))
    const now = yield* Clock.currentTimeMillis
    if (known !== undefined && now < known.usableUntil) {
      if (now >= known.freshUntil && !checking.has(host)) {
        checking.add(host)
        yield* Effect.forkDetach(inPlace(organizationId, check(host, known)))
      }
      return known.addresses
    }
    if (known !== undefined) yield* Cache.invalidate(cache, host)
    const answered = yield* Effect.timeoutOption(
      inPlace(organizationId, Cache.get(cache, host)),
      Duration.millis(waitMillis)
    )
    if (Option.isNone(answered)) return yield* new NameNotFound({ host, code: "EAI_AGAIN" })
    return answered.value.addresses
  })

  return {
    find,
    resolve: (host) => Effect.runPromise(find(host.replace(/\.$/, "").toLowerCase(), ""))
  }
}
