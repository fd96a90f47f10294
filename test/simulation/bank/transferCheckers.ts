/**
 * Checks the promises of messages between organizations (docs/outbox.md): each is taken in once, with its effect in the same frame, and in the order in which
 * its partition sent them to that receiver; none waits for ever; and money is neither made nor lost on the way.
 */

import type { FrameMessage, FrameRecord } from "../../../src/engine/frame.ts"
import { isBehind, type Origin, outboxName } from "../../../src/engine/outbox.ts"
import type { Checker } from "../../../src/simulation/engine/Checker.ts"
import { firstParked } from "../../../src/simulation/engine/heal.ts"
import type { Simulation } from "../../../src/simulation/engine/Simulation.ts"
import type { Commit } from "../../../src/simulation/engine/Truth.ts"
import { breakingAmount, type PurseCommand, type PurseFact, rejectedAmount } from "./transfers.ts"

/** The kind of the engine's own actor that takes messages in. */
const inboxKind = "sluice.inbox"

interface Sent {
  readonly name: string
  readonly partition: number
  readonly origin: Origin
  readonly message: FrameMessage
  /** Sequence of the frame that has taken it in. */
  takenAt: number | undefined
}

const nameOf = (partition: number, origin: Origin): string => `${partition}/${origin.join("/")}`

/** The amount that a message carries. */
const amountOf = ({ command }: FrameMessage): number => (command as { readonly amount: number }).amount

/** A message's command as its receiver's decision names it. */
const idOf = (command: PurseCommand): string | undefined =>
  "id" in command ? `${command._tag} ${command.id}` : undefined

/** All messages of the logs, and which of them were taken in. */
class Ledger {
  readonly sent = new Map<string, Sent>()
  private readonly byId = new Map<string, Sent>()
  /** Those to one receiver from one partition, in order. */
  private readonly lanes = new Map<string, Array<Sent>>()
  private readonly lastOf = new Map<string, number>()

  note({ frame, partition, sequence }: Commit, message: FrameMessage, index: number): void {
    const origin: Origin = [frame.epoch, sequence, index]
    const one: Sent = { name: nameOf(partition, origin), partition, origin, message, takenAt: undefined }
    this.sent.set(one.name, one)
    const id = idOf(message.command as PurseCommand)
    if (id !== undefined) this.byId.set(id, one)
    const name = `${partition} ${message.organization}`
    const lane = this.lanes.get(name)
    if (lane === undefined) this.lanes.set(name, [one])
    else lane.push(one)
  }

  /** Notes that a message was taken in; answers what is wrong with that. */
  take({ actor, fact }: FrameRecord, sequence: number): string | undefined {
    const name = nameOf(Number(actor.key), fact as Origin)
    const one = this.sent.get(name)
    if (one === undefined) return `a message ${name} that is in no log was taken in`
    if (one.message.organization !== actor.organization) return `message ${name} was taken in by ${actor.organization}`
    if (one.takenAt !== undefined) return `message ${name} was taken in by frame ${one.takenAt} and again`
    one.takenAt = sequence
    const laneName = `${actor.key} ${actor.organization}`
    const lane = this.lanes.get(laneName)!
    const before = this.lastOf.get(laneName) ?? -1
    const at = lane.indexOf(one)
    this.lastOf.set(laneName, at)
    if (at !== before + 1) return `message ${name} was taken in before ${lane[before + 1]?.name}`
    if (before >= 0 && !isBehind(one.origin, lane[before]!.origin))
      return `message ${name} is not behind the one before it`
    return undefined
  }

  ofCommand(command: PurseCommand): Sent | undefined {
    const id = idOf(command)
    return id === undefined ? undefined : this.byId.get(id)
  }
}

const messagesTakenOnce: Checker = {
  name: "messages are taken in once",
  make: (simulation, violate) => {
    const ledger = new Ledger()
    return {
      committed: (commit) => {
        const { decisions, frame, sequence } = commit
        for (const [index, record] of frame.records.entries()) {
          if (record.message !== undefined) ledger.note(commit, record.message, index)
          if (record.actor.kind !== inboxKind) continue
          const problem = ledger.take(record, sequence)
          if (problem !== undefined) return violate(`frame ${sequence}: ${problem}`)
        }
        for (const { command, kind } of decisions) {
          if (kind !== "purse" || command === undefined) continue
          const message = ledger.ofCommand(command as PurseCommand)
          if (message !== undefined && message.takenAt !== sequence)
            return violate(`frame ${sequence} has the effect of message ${message.name}, which it has not taken in`)
        }
      },
      healed: () => {
        for (const { message, name, origin, partition, takenAt } of ledger.sent.values())
          if (takenAt === undefined && !isParked(simulation, partition, origin))
            return violate(`message ${name} to ${message.organization} never arrived`)
        for (const { error, record, sequence } of firstParked(simulation)) {
          const { message } = JSON.parse(record) as { readonly message: FrameMessage }
          if (amountOf(message) !== breakingAmount)
            return violate(`a message of frame ${sequence} to ${message.organization} is parked for ever: ${error}`)
        }
        for (const { id, outbox } of simulation.newest()?.partitions() ?? [])
          if (outbox.count > 0) return violate(`the outbox of partition ${id} holds ${outbox.count} messages`)
      }
    }
  }
}

const isParked = ({ stores }: Simulation, partition: number, [, sequence, index]: Origin): boolean =>
  stores.cursors.parked.some(
    (record) =>
      record.reactor === outboxName &&
      record.partition === partition &&
      record.sequence === sequence &&
      record.index === index
  )

const sentMoneyIsKept: Checker = {
  name: "money that is sent is kept",
  make: (_simulation, violate) => {
    /** In purses and on its way. */
    let balances = 0
    let underWay = 0
    let funded = 0
    let refused = 0
    const amounts = new Map<string, number>()
    return {
      committed: ({ decisions, frame, partition, sequence }) => {
        for (const [index, { actor, fact, message }] of frame.records.entries()) {
          if (message !== undefined) {
            underWay += amountOf(message)
            amounts.set(nameOf(partition, [frame.epoch, sequence, index]), amountOf(message))
          } else if (actor.kind === inboxKind) {
            const amount = amounts.get(nameOf(Number(actor.key), fact as Origin)) ?? 0
            underWay -= amount
            if (amount === rejectedAmount) refused += amount
          } else if (actor.kind === "purse") balances += (fact as PurseFact).change
        }
        for (const { command, kind } of decisions) {
          if (kind === "purse" && (command as PurseCommand)._tag === "Fund")
            funded += (command as { amount: number }).amount
        }
        if (balances + underWay + refused !== funded)
          violate(
            `frame ${sequence}: ${funded} were paid in, and ${balances} are in purses, ${underWay} under way, ${refused} refused`
          )
      }
    }
  }
}

export const purseCheckers: ReadonlyArray<Checker> = [messagesTakenOnce, sentMoneyIsKept]
