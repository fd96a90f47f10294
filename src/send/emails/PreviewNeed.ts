/**
 * Decides whether a request to send is previewed before its contents are stored (docs/handoff.md, 1). A preview costs
 * one more trip to the account, and keeps the contents of refused requests and of repeats out of the store. A request
 * that the account will most likely accept goes without one. If the account refuses it after all, its contents stay
 * without an email, so their number is bounded: one small request for each accepted one, and one for each key.
 */
import { BoundedMap } from "../../common/BoundedMap.ts"
import type { Message } from "../Message.ts"

/** Most characters of contents that may be stored in vain. */
export const maximumUnpreviewed = 64 * 1024

/** Accounts and keys that are remembered; a forgotten one is previewed, or stored once more. */
const remembered = 100_000

/** The characters of a message's large parts; undefined for an attachment, which makes a message large. */
const charactersOf = ({ attachments, headers, html, text }: Message): number | undefined =>
  attachments.length > 0
    ? undefined
    : (html?.length ?? 0) +
      (text?.length ?? 0) +
      Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + value.length, 0)

const isSmall = (messages: ReadonlyArray<Message>): boolean => {
  let sum = 0
  for (const message of messages) {
    const characters = charactersOf(message)
    if (characters === undefined) return false
    sum += characters
    if (sum > maximumUnpreviewed) return false
  }
  return true
}

export class PreviewNeed {
  private readonly accepting = new BoundedMap<string, true>(remembered)
  private readonly keys = new BoundedMap<string, true>(remembered)

  /**
   * Whether a request of an account needs a preview. `key` is its idempotency key, which is noted: a second request with
   * it is a repeat.
   */
  isNeeded(account: string, messages: ReadonlyArray<Message>, key: string | undefined): boolean {
    const isRepeat = key !== undefined && this.hasSeen(`${account} ${key}`)
    return isRepeat || this.accepting.get(account) !== true || !isSmall(messages)
  }

  /** Notes the account's answer to a request. */
  answered(account: string, isAccepted: boolean): void {
    if (isAccepted) this.accepting.set(account, true)
    else this.accepting.delete(account)
  }

  private hasSeen(key: string): boolean {
    if (this.keys.get(key) === true) return true
    this.keys.set(key, true)
    return false
  }
}
