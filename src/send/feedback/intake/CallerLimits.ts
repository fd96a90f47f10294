/** Limits the requests of each address to the listener. Pure: the time is an argument, in Unix milliseconds. */
import { BoundedMap } from "../../../common/BoundedMap.ts"
import { countedAddresses, maximumConnectionsOfAddress, maximumMailsOfAddress } from "./limits.ts"

/** The mails of each address in this minute, and its connections. */
export class CallerLimits {
  private readonly mails = new BoundedMap<string, { readonly minute: number; count: number }>(countedAddresses)
  private readonly connections = new Map<string, number>()

  /** Whether the address may have one more connection. */
  connect(address: string): boolean {
    const count = (this.connections.get(address) ?? 0) + 1
    if (count > maximumConnectionsOfAddress) return false
    this.connections.set(address, count)
    return true
  }

  close(address: string): void {
    const count = (this.connections.get(address) ?? 0) - 1
    if (count > 0) this.connections.set(address, count)
    else this.connections.delete(address)
  }

  /** Whether the address may send one more mail now. */
  mail(address: string, now: number): boolean {
    const minute = Math.floor(now / 60_000)
    const before = this.mails.get(address)
    const current = before?.minute === minute ? before : { minute, count: 0 }
    current.count++
    this.mails.set(address, current)
    return current.count <= maximumMailsOfAddress
  }
}
