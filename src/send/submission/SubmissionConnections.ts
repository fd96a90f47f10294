/**
 * Knows the connections of the listener for submission, and how long each may take (docs/handoff.md, 7.1). Pure: times
 * are arguments, in Unix milliseconds.
 */
import type { Redacted } from "effect"
import { networkOf } from "../../common/networkOf.ts"
import type { Principal } from "../../platform/model.ts"
import { CallerLimits } from "../listener/CallerLimits.ts"
import {
  connectionMillis,
  loginMillis,
  mailMillis,
  maximumConnectionsOfCaller,
  maximumFailedLogins,
  maximumFailedLoginsOfConnection
} from "./limits.ts"

/** The key with which a connection has logged in. */
export interface Login {
  readonly key: Redacted.Redacted<string>
  readonly principal: Principal
}

interface Connection {
  readonly network: string
  readonly since: number
  login: Login | undefined
  failedLogins: number
  /** The time by which the client must have logged in, or have handed over a mail; undefined while it waits for us. */
  deadline: number | undefined
}

export class SubmissionConnections {
  private readonly open = new Map<string, Connection>()
  private readonly networks = new CallerLimits({
    connections: maximumConnectionsOfCaller,
    perMinute: maximumFailedLogins
  })
  private readonly organizations = new CallerLimits({ connections: maximumConnectionsOfCaller, perMinute: 0 })

  get size(): number {
    return this.open.size
  }

  /** Takes a connection, if the network of its address may have one more. */
  begin(id: string, address: string, now: number): boolean {
    const network = networkOf(address)
    if (!this.networks.connect(network)) return false
    this.open.set(id, { network, since: now, login: undefined, failedLogins: 0, deadline: now + loginMillis })
    return true
  }

  /** Forgets a connection; one that was not taken is none. */
  end(id: string): void {
    const connection = this.open.get(id)
    if (connection === undefined) return
    this.open.delete(id)
    this.networks.close(connection.network)
    if (connection.login !== undefined) this.organizations.close(connection.login.principal.organizationId)
  }

  /** Notes a login, if the organization may have one more connection. One that has ended meanwhile may not. */
  logIn(id: string, login: Login, now: number): boolean {
    const connection = this.open.get(id)
    if (connection === undefined) return false
    // STARTTLS after a login makes the client log in once more.
    if (connection.login !== undefined) this.organizations.close(connection.login.principal.organizationId)
    connection.login = undefined
    if (!this.organizations.connect(login.principal.organizationId)) return false
    connection.login = login
    connection.deadline = now + mailMillis
    return true
  }

  /** Counts a failed login, and says whether the connection may try again. */
  failLogin(id: string, now: number): boolean {
    const connection = this.open.get(id)
    if (connection === undefined) return false
    connection.failedLogins++
    const isWithin = this.networks.count(connection.network, now)
    return isWithin && connection.failedLogins < maximumFailedLoginsOfConnection
  }

  loginOf(id: string): Login | undefined {
    return this.open.get(id)?.login
  }

  /** Whether a connection is so old that it takes no further mail. */
  isOld(id: string, now: number): boolean {
    const connection = this.open.get(id)
    return connection !== undefined && now - connection.since >= connectionMillis
  }

  /** A mail is complete, and its client waits for the answer. */
  wait(id: string): void {
    const connection = this.open.get(id)
    if (connection !== undefined) connection.deadline = undefined
  }

  /** The mail was answered, and the time for the next one begins. */
  answer(id: string, now: number): void {
    const connection = this.open.get(id)
    if (connection !== undefined) connection.deadline = now + mailMillis
  }

  /** Whether the client waits for an answer. */
  isWaiting(id: string): boolean {
    const connection = this.open.get(id)
    return connection !== undefined && connection.deadline === undefined
  }

  /** Whether the client has taken too long. */
  isLate(id: string, now: number): boolean {
    const deadline = this.open.get(id)?.deadline
    return deadline !== undefined && now >= deadline
  }
}
