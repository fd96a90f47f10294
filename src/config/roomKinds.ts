/**
 * Defines the kinds of settings that belong to a folder: addresses of NATS, keys and waits of webhooks. `kinds.ts` has
 * the others.
 */

import { Resolver } from "node:dns"
import { isIP } from "node:net"
import { Redacted, Result } from "effect"
import { parseSecretsKeys } from "../common/secretsKeys.ts"
import { eventRetentionMillis } from "../events/event.ts"
import { parseNatsAddress } from "../nats/address.ts"
import { readAddress as readPostgresAddress } from "../postgres/address.ts"
import { readAddress } from "../send/emails/addresses.ts"
import { parseRelayAddress } from "../send/handoff/smtp/relayAddress.ts"
import { parseRelaySpf } from "../send/senders/authentication/relaySpf.ts"
import { maximumRetries } from "../webhooks/delivery/schedule.ts"
import { parseProxy } from "../webhooks/sender/egressProxy.ts"
import { durations, setting, withoutCredentials } from "./kinds.ts"

/**
 * PostgreSQL's, as libpq reads it. An unencoded `/`, `?`, `#` or `@` in a password would move a part of it elsewhere.
 */
export const postgresUrl = setting(
  "an address such as postgres://user:password@host:5432/database",
  (value) => (Result.isSuccess(readPostgresAddress(value, {})) ? value : undefined),
  {
    explain: (value) => {
      const address = readPostgresAddress(value, {})
      return Result.isFailure(address) && /^postgres(ql)?:\/\//.test(value) ? address.failure : undefined
    },
    show: (value) => withoutCredentials(value).replace(/\?.*$/s, "")
  }
)

export const natsUrl = setting(
  "an address such as nats://user:password@host:4222, several separated by commas",
  (value) => (Result.isSuccess(parseNatsAddress(Redacted.make(value))) ? value : undefined),
  {
    explain: (value) => {
      const address = parseNatsAddress(Redacted.make(value))
      return Result.isFailure(address) ? address.failure.reason : undefined
    },
    show: (value) =>
      value
        .split(",")
        .map((one) => withoutCredentials(one.trim()))
        .join(",")
  }
)

/** Keys: the first one encrypts, the others are earlier ones that only decrypt. */
export const secretsKeys = setting(
  "32 bytes in base64 or hexadecimal, such as `openssl rand -base64 32` makes, earlier keys behind a comma",
  (value) => parseSecretsKeys(value)
)

/** The waits before the retries of a delivery; none is longer than its event is kept. */
export const retryDelays = durations(maximumRetries, eventRetentionMillis)

/** A relay. An unencoded `/`, `?`, `#` or `@` in a password would move a part of it elsewhere. */
export const smtpUrl = setting(
  "an address such as smtp://user:password@host:587 or smtps://user:password@host",
  (value) => (parseRelayAddress(value) === undefined ? undefined : value),
  {
    explain: (value) => (/^smtps?:\/\/.*[@#?]/s.test(value) ? "encode / ? # and @ in a password" : undefined),
    show: withoutCredentials
  }
)

/** A proxy for webhooks. */
export const proxyUrl = setting(
  "an address such as http://user:password@host:3128 or https://host",
  (value) => parseProxy(value),
  {
    explain: (value) => (/^https?:\/\/.*[@#?]/s.test(value) ? "encode / ? # and @ in a password" : undefined),
    show: withoutCredentials
  }
)

const isRange = (text: string): boolean => {
  const [address = "", bits, ...more] = text.split("/")
  const family = isIP(address)
  if (family === 0 || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}

/** Addresses and ranges, as firewalls take them. */
export const addressRanges = setting(
  "addresses such as 203.0.113.7 or 2001:db8::/48, several separated by commas",
  (value) => {
    const ranges = value.split(",").map((one) => one.trim())
    return ranges.every(isRange) ? ranges : undefined
  }
)

/** A domain that can have mail. */
export const hostname = setting("a domain such as bounces.example.com", (value) => {
  const read = readAddress(`a@${value}`)
  return read?.text === `a@${value.toLowerCase()}` ? read.domain : undefined
})

/** An address, with a name or without. */
export const mailAddress = setting("an address such as Acme <no-reply@example.com>", (value) =>
  value === "Sluice <no-reply@sluice.invalid>" ? value : readAddress(value)?.text
)

/** Bare addresses, in lower case: no mail system that reports tells two apart by it. */
export const mailAddresses = setting("addresses such as fbl@example.com, several separated by commas", (value) => {
  const addresses = value.split(",").map((one) => one.trim().toLowerCase())
  return addresses.every((one) => readAddress(one)?.text === one && !one.includes("<")) ? addresses : undefined
})

/** The terms of SPF records that allow the relay. */
export const relaySpf = setting(
  "SPF terms such as include:spf.relay.example or ip4:203.0.113.0/24, several separated by blanks or commas",
  parseRelaySpf
)

/** Addresses that Node's resolver takes. */
export const nameServers = setting("addresses such as 127.0.0.1:53, several separated by commas", (value) => {
  const servers = value.split(",").map((one) => one.trim())
  try {
    new Resolver().setServers(servers)
    return servers
  } catch {
    return undefined
  }
})
