/**
 * Defines the errors of the data folder and the embedded servers. Every message is one sentence that says what to do or
 * where to look, and none contains a secret.
 */
import { Data } from "effect"

/**
 * Another process holds the data folder. `pid` is absent in the moment before the holder has introduced itself. See
 * {@link Embedded.layer}.
 */
export class DataFolderInUse extends Data.TaggedError("DataFolderInUse")<{
  readonly folder: string
  readonly pid: number | undefined
  readonly purpose: string | undefined
}> {
  override get message(): string {
    const holder = this.pid === undefined ? "another process" : `process ${this.pid} (${this.purpose})`
    return `The data folder ${this.folder} is in use by ${holder}. Stop it first, or choose another folder with SLUICE_DATA_DIR.`
  }
}

/** The data folder cannot be made, read or written, or is not one of ours. See {@link Embedded.layer}. */
export class DataFolderUnusable extends Data.TaggedError("DataFolderUnusable")<{
  readonly folder: string
  readonly reason: string
}> {
  override get message(): string {
    return `The data folder ${this.folder} cannot be used: ${this.reason}.`
  }
}

/** The data folder was laid out by a newer version. See {@link Embedded.layer}. */
export class DataFolderTooNew extends Data.TaggedError("DataFolderTooNew")<{
  readonly folder: string
  readonly format: number
  readonly supported: number
}> {
  override get message(): string {
    return `The data folder ${this.folder} has format ${this.format}; this version knows formats up to ${this.supported}. Use the newer version that made it.`
  }
}

/** The disk of the data folder has no room for what is to be done. See {@link Embedded.layer}. */
export class DataFolderFull extends Data.TaggedError("DataFolderFull")<{
  readonly folder: string
  readonly freeBytes: number
  readonly neededBytes: number
}> {
  override get message(): string {
    const [free, needed] = [this.freeBytes, this.neededBytes].map((bytes) => (bytes / 1024 / 1024).toFixed(0))
    return `The disk of the data folder ${this.folder} is full: ${free} MB are free and ${needed} MB are needed. Make room there, or choose another folder with SLUICE_DATA_DIR.`
  }
}

/** Why a data folder cannot be used. See {@link Embedded.layer}. */
export type DataFolderError = DataFolderInUse | DataFolderUnusable | DataFolderTooNew | DataFolderFull

/** A server's program is missing, too old, or cannot be provided. See {@link Embedded.layer}. */
export class BinaryUnavailable extends Data.TaggedError("BinaryUnavailable")<{
  readonly server: ServerName
  readonly reason: string
}> {
  override get message(): string {
    return `${this.server} cannot be started: ${this.reason}.`
  }
}

/** A server's program runs, but the server did not come up. See {@link Embedded.layer}. */
export class ServerStartFailed extends Data.TaggedError("ServerStartFailed")<{
  readonly server: ServerName
  readonly reason: string
  readonly logFile: string
  /** Whether another process listens on the port, so that another port may help. */
  readonly portTaken: boolean
}> {
  override get message(): string {
    return `${this.server} did not start: ${this.reason} (its log is ${this.logFile}).`
  }
}

/** The name of a server. See {@link Embedded.layer}. */
export type ServerName = "PostgreSQL" | "NATS"

/**
 * Why servers could not be started: the data folder, a program that is missing, or a start that failed. See
 * {@link Embedded.layer}.
 */
export type EmbeddedError = DataFolderError | BinaryUnavailable | ServerStartFailed

/** The text of an unknown cause, for a message: a system error's own sentence without its stack. */
export const reasonOf = (cause: unknown): string => {
  const text = cause instanceof Error ? cause.message : String(cause)
  return text.replace(/\.$/, "")
}
