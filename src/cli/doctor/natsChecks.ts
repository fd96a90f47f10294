/**
 * Judges the NATS that `NATS_URL` names, for `sluice doctor`: the connection, what an acknowledgement means there, room
 * for the logs, its clock. It changes nothing there; `natsChecks` is pure.
 */
import { Clock, Effect } from "effect"
import { needsTls } from "../../nats/access.ts"
import { parseNatsAddress } from "../../nats/address.ts"
import type { SyncSetting } from "../../nats/bootCheck.ts"
import { connectNats, type NatsConnectionOptions } from "../../nats/connection.ts"
import * as Api from "../../nats/jetStreamApi.ts"
import type { LogStreamOptions } from "../../nats/logStream.ts"
import { surveyLogStreams } from "../../nats/logSurvey.ts"
import * as Requests from "../../nats/requests.ts"
import { serverTime } from "../../nats/serverTime.ts"
import { type CheckResult, clockCheck, failed, ok, warning } from "./CheckResult.ts"

/** The state of a server. */
export interface NatsFacts {
  readonly sync: SyncSetting
  readonly isEncrypted: boolean
  readonly isLocal: boolean
  /** Logs that are there already, or why those that are missing do not fit. */
  readonly logs: number | string
  /** Undefined before the first start. */
  readonly aheadMillis: number | undefined
}

export interface NatsNeeds {
  readonly weakSync: "refuse" | "accept"
  readonly partitions: number
}

const durability = ({ sync }: NatsFacts, { weakSync }: NatsNeeds): CheckResult => {
  const check = "NATS durability"
  if (sync === "always") return ok(check, "the server syncs before it acknowledges")
  if (sync === "unknown")
    return warning(
      check,
      'the server does not show whether it syncs before it acknowledges: see to "sync_interval: always", and export its status as nats.conf shows'
    )
  const risk = 'the server acknowledges before it has synced: set "sync_interval: always" in its jetstream block'
  return weakSync === "accept" ? warning(check, `${risk} (accepted)`) : failed(check, risk)
}

/** The findings of a server that can be used. */
export const natsChecks = (facts: NatsFacts, needs: NatsNeeds): ReadonlyArray<CheckResult> => [
  facts.isEncrypted || facts.isLocal
    ? ok("NATS TLS", facts.isEncrypted ? "the connection is encrypted" : "the connection stays on this machine")
    : warning("NATS TLS", "the connection is not encrypted: use tls:// in NATS_URL, with TLS at the server"),
  durability(facts, needs),
  typeof facts.logs === "string"
    ? failed("NATS room", facts.logs)
    : ok(
        "NATS room",
        facts.logs === needs.partitions
          ? `the logs of all ${needs.partitions} partitions are there`
          : `${facts.logs} of ${needs.partitions} logs are there, and the others fit`
      ),
  ...(facts.aheadMillis === undefined ? [] : [clockCheck("NATS clock", facts.aheadMillis)])
]

const loopback = /^(?:localhost|127\.[\d.]+|\[::1\]):\d+$/

/** Connects once and judges. A server that cannot be used is one finding. */
export const examineNats = (
  options: NatsConnectionOptions,
  needs: NatsNeeds,
  logs: Omit<LogStreamOptions, "partitions">
): Effect.Effect<ReadonlyArray<CheckResult>> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { servers, tls } = yield* Effect.fromResult(parseNatsAddress(options.url))
      // Whether its sync is good enough is a finding of its own.
      const { client, server } = yield* connectNats({ ...options, weakSync: "accept", name: "sluice doctor" })
      const requests = yield* Requests.make(client)
      const found = yield* Effect.match(surveyLogStreams(requests, Api.make(requests), needs.partitions, logs), {
        onSuccess: ({ logs }) => logs.length,
        onFailure: ({ message }) => message
      })
      const now = yield* Clock.currentTimeMillis
      const theirs = yield* serverTime(client, logs.namespace)
      const facts: NatsFacts = {
        sync: server.sync,
        isEncrypted: tls || needsTls(options.files ?? {}) || client.info?.tls_required === true,
        isLocal: servers.every((one) => loopback.test(one)),
        logs: found,
        aheadMillis: theirs === undefined ? undefined : now - theirs
      }
      return [ok("NATS", `${server.version} at ${servers.join(", ")}`), ...natsChecks(facts, needs)]
    })
  ).pipe(Effect.catch((error) => Effect.succeed([failed("NATS", error.message)])))
