/**
 * Defines the reasons why the platform does not start on a NATS server, each with one clear sentence without
 * credentials. Needs no service.
 */
import { Data } from "effect"
import { natsMinimum } from "./version.ts"

/** The address is malformed. The error does not show it, because it may hold a password. */
export class NatsUrlInvalid extends Data.TaggedError("NatsUrlInvalid")<{ readonly reason: string }> {
  override get message(): string {
    return `NATS_URL is not usable: ${this.reason}. It looks like nats://user:password@host:4222, several separated by commas.`
  }
}

/** A file for the connection cannot be used. Its text is not shown. */
export class NatsFileUnusable extends Data.TaggedError("NatsFileUnusable")<{
  readonly variable: string
  readonly path: string
  readonly reason: string
}> {
  override get message(): string {
    return `The file of ${this.variable}, ${this.path}, ${this.reason}.`
  }
}

/** No server answered within the time, or none could be trusted. */
export class NatsUnreachable extends Data.TaggedError("NatsUnreachable")<{
  readonly servers: string
  readonly reason: string
}> {
  override get message(): string {
    return `NATS at ${this.servers} cannot be reached: ${this.reason}.`
  }
}

/** The server refused the credentials. */
export class NatsAuthenticationFailed extends Data.TaggedError("NatsAuthenticationFailed")<{
  readonly servers: string
  /** Whether a file was to prove the user. */
  readonly byFile: boolean
}> {
  override get message(): string {
    const proof = this.byFile ? "what NATS_CREDS or NATS_NKEY holds" : "the user, password or token in NATS_URL"
    return `NATS at ${this.servers} refuses ${proof}.`
  }
}

/** A server is too old for the engine. */
export class NatsTooOld extends Data.TaggedError("NatsTooOld")<{
  readonly server: string
  readonly version: string
}> {
  override get message(): string {
    return `The NATS server ${this.server} is version ${this.version}, and at least ${natsMinimum} is needed.`
  }
}

/** JetStream is off, or this user's account may not use it. */
export class NatsWithoutJetStream extends Data.TaggedError("NatsWithoutJetStream")<{
  readonly servers: string
  readonly reason: string
}> {
  override get message(): string {
    return `NATS at ${this.servers} offers no JetStream: ${this.reason}.`
  }
}

/** A server acknowledges messages before they are on disk. */
export class NatsWeakSync extends Data.TaggedError("NatsWeakSync")<{
  readonly server: string
  readonly intervalSeconds: number
}> {
  override get message(): string {
    return `The NATS server ${this.server} acknowledges before it has written to disk (sync_interval ${this.intervalSeconds} s), so a power failure loses data: set "sync_interval: always" in its jetstream block (see nats.conf), or accept the risk with SLUICE_NATS_WEAK_SYNC=accept.`
  }
}

/** A frame of the log would not fit into one message. */
export class NatsPayloadTooSmall extends Data.TaggedError("NatsPayloadTooSmall")<{
  readonly servers: string
  readonly maxPayloadBytes: number
  readonly neededBytes: number
}> {
  override get message(): string {
    return `NATS at ${this.servers} allows messages of ${this.maxPayloadBytes} bytes, and ${this.neededBytes} are needed: set "max_payload: 1MB" as in nats.conf.`
  }
}

export type NatsBootError =
  | NatsUrlInvalid
  | NatsFileUnusable
  | NatsUnreachable
  | NatsAuthenticationFailed
  | NatsTooOld
  | NatsWithoutJetStream
  | NatsWeakSync
  | NatsPayloadTooSmall
