/**
 * Checks the promises of the bank's rules: money is neither made nor lost, an alarm rings once for each time it was set and not before, each signal
 * counts once and in order, and a window admits no more than its limit.
 */

import type { Checker } from "../../../src/simulation/engine/Checker.ts"
import type { AccountState } from "./bank.ts"

interface AccountRecord {
  readonly id: string
  readonly change: number
}

const moneyIsKept: Checker = {
  name: "money is kept",
  make: (simulation, violate) => ({
    committed: ({ decisions, sequence }) => {
      for (const decided of decisions) {
        const command = decided.command as
          | { readonly _tag?: string; readonly amount?: number; readonly to?: string }
          | undefined
        if (decided.kind !== "account" || command === undefined) continue
        const changes = decided.records
          .map((text) => (JSON.parse(text) as [string, string, string, AccountRecord])[3])
          .filter((record) => typeof record.change === "number")
        const sum = changes.reduce((total, { change }) => total + change, 0)
        const amount = command.amount ?? 0
        const wanted =
          command._tag === "Deposit" ? amount : command._tag === "Transfer" && command.to !== decided.key ? 0 : -amount
        if (sum !== wanted)
          violate(`frame ${sequence}: a ${command._tag} of ${amount} has changed the sum of all accounts by ${sum}`)
      }
    },
    healed: () => {
      // Compare the balances that clients were told with those in the log.
      for (const operation of simulation.operations) {
        if (operation.kind !== "account" || operation.answer?._tag !== "Replied") continue
        const { id } = operation.command as { readonly id?: string }
        if (id === undefined) continue
        const { moments } = simulation.truth.history(operation)
        const { done } = moments[moments.length - 1]!.state as AccountState
        const noted = done.find((entry) => entry.id === id)?.reply
        if (noted !== operation.answer.reply) {
          return violate(`#${operation.number} was answered ${operation.answer.reply}, the account has noted ${noted}`)
        }
      }
    }
  })
}

interface AlarmRecord {
  readonly _tag: "Set" | "Rang"
  readonly id: string
  readonly at: number
  readonly due?: number
}

const alarmsRingOnce: Checker = {
  name: "alarms ring once",
  make: (simulation, violate) => {
    const pending = new Map<string, number>()
    return {
      committed: ({ frame, sequence }) => {
        for (const { actor, fact } of frame.records) {
          if (actor.kind !== "alarm") continue
          const record = fact as AlarmRecord
          const name = `${actor.organization}/${actor.key}/${record.id}/${record.due ?? record.at}`
          const count = pending.get(name) ?? 0
          if (record._tag === "Set") {
            pending.set(name, count + 1)
            continue
          }
          if (count === 0) return violate(`frame ${sequence}: alarm ${name} rang without having been set`)
          if (record.at < record.due!)
            return violate(`frame ${sequence}: alarm ${name} rang ${record.due! - record.at} ms too early`)
          pending.set(name, count - 1)
        }
      },
      healed: () => {
        const clock = simulation.newest()?.process.wallMillis() ?? 0
        for (const [name, count] of pending) {
          const due = Number(name.slice(name.lastIndexOf("/") + 1))
          if (count > 0 && due < clock - 2_000)
            return violate(`alarm ${name} has not rung, ${clock - due} ms after its time`)
        }
      }
    }
  }
}

const signalsCountOnce: Checker = {
  name: "signals count once",
  make: (simulation, violate) => {
    const last: Array<number> = simulation.truth.commits.map(() => 0)
    return {
      committed: ({ frame, partition, sequence }) => {
        for (const { actor, fact } of frame.records) {
          if (actor.kind !== "meter") continue
          const { amount, signal } = fact as { readonly signal: number; readonly amount: number }
          if (signal !== last[partition]! + 1)
            return violate(`frame ${sequence}: signal ${signal} counts after signal ${last[partition]}`)
          last[partition] = signal
          const published = simulation.stores.signals.lists[partition]![signal - 1]
          const wanted =
            published === undefined
              ? undefined
              : (JSON.parse(Buffer.from(published.data).toString()) as { amount: number }).amount
          if (wanted !== amount)
            return violate(`frame ${sequence}: signal ${signal} counts ${amount} instead of ${wanted}`)
        }
      },
      healed: () => {
        for (const [partition, list] of simulation.stores.signals.lists.entries()) {
          if (last[partition]! < list.length)
            return violate(`partition ${partition}: ${last[partition]} of ${list.length} signals were counted`)
        }
      }
    }
  }
}

/** What the limiter lane admits in one window; the same number stands in the rule. */
const windowLimit = 3

const windowsAreKept: Checker = {
  name: "windows are kept",
  make: (_simulation, violate) => {
    const admitted = new Map<string, number>()
    return {
      laneAnswered: ({ engine, epoch, exit, organization, partition }) => {
        if (exit._tag !== "Success") return
        const reply = exit.value as { readonly admitted: boolean; readonly window: number }
        if (!reply.admitted) return
        const name = `${engine.name}, epoch ${epoch} of partition ${partition}, ${organization}, window ${reply.window}`
        const count = (admitted.get(name) ?? 0) + 1
        admitted.set(name, count)
        if (count > windowLimit) violate(`${name}: ${count} were admitted, the limit is ${windowLimit}`)
      }
    }
  }
}

export const bankCheckers: ReadonlyArray<Checker> = [moneyIsKept, alarmsRingOnce, signalsCountOnce, windowsAreKept]
