/** Defines the addresses on which `sluice serve` listens, and the error for an address that it cannot get. */
import { createServer } from "node:net"
import { Data, Effect } from "effect"
import type { Config } from "../config/settings.ts"

/** The address of a listener, and its settings. */
export interface Address {
  readonly host: string
  readonly port: number
  readonly settings: { readonly host: string; readonly port: string }
}

/** Hosts that mean every address of the machine. */
const everywhere = /^(?:0\.0\.0\.0|\[?::\]?)$/

/** Whether a listener on this host has every address of the machine. */
export const isEverywhere = (host: string): boolean => everywhere.test(host)

/** The address by which a program on this machine reaches a listener: "every address" is none to connect to. */
export const reachableUrl = (url: string): string =>
  url.replace(/^(https?:\/\/)(0\.0\.0\.0|\[::\])/, (_, scheme: string, host: string) =>
    host === "[::]" ? `${scheme}[::1]` : `${scheme}127.0.0.1`
  )

/** The meaning of the system's error code, and the setting to change. */
const faults: Readonly<Record<string, readonly [reason: string, setting: "host" | "port"]>> = {
  EADDRINUSE: ["another program is listening there", "port"],
  EACCES: ["this user may not use that port", "port"],
  EADDRNOTAVAIL: ["this machine has no such address", "host"],
  ENOTFOUND: ["its name is not known", "host"]
}

/** A listener's address is taken, or does not belong to this machine. */
export class AddressUnavailable extends Data.TaggedError("AddressUnavailable")<Address & { readonly code: string }> {
  override get message(): string {
    const [reason, setting] = faults[this.code] ?? [this.code, "port"]
    return `Cannot listen on ${this.host}:${this.port}: ${reason}. Choose another ${setting} with ${this.settings[setting]}.`
  }
}

const addressOf = (host: string, port: number, which: "" | "ADMIN_"): Address => ({
  host,
  port,
  settings: { host: `SLUICE_${which}HOST`, port: `SLUICE_${which}PORT` }
})

export const unavailable = (address: Address, cause: unknown) => {
  const code = cause instanceof Error ? (cause as NodeJS.ErrnoException).code : undefined
  return new AddressUnavailable({ ...address, code: code ?? String(cause) })
}

/** Checks the address before anything is started. The listener itself still decides. */
export const requireAddress = (address: Address): Effect.Effect<void, AddressUnavailable> =>
  Effect.callback((resume) => {
    const probe = createServer()
    probe.once("error", (error) => resume(Effect.fail(unavailable(address, error))))
    probe.listen({ host: address.host, port: address.port, exclusive: true }, () =>
      probe.close(() => resume(Effect.void))
    )
  })

/** The addresses of a start; `admin` is undefined where there is no admin listener. */
export const addressesOf = (config: Config) => {
  const isAdministered =
    config.adminKey !== undefined || config.databaseUrl === undefined || config.natsUrl === undefined
  return {
    api: addressOf(config.host, config.port, ""),
    admin: isAdministered ? addressOf(config.adminHost, config.adminPort, "ADMIN_") : undefined
  }
}
