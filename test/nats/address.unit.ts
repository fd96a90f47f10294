import { expect, it } from "@effect/vitest"
import { Redacted, Result } from "effect"
import { parseNatsAddress } from "../../src/nats/address.ts"

const parse = (text: string) => {
  const parsed = parseNatsAddress(Redacted.make(text))
  if (Result.isFailure(parsed)) return parsed.failure.message
  const { servers, tls, credentials } = parsed.success
  const shown =
    credentials._tag === "User"
      ? [credentials.user, Redacted.value(credentials.password)]
      : credentials._tag === "Token"
        ? [Redacted.value(credentials.token)]
        : []
  return [servers.join(" "), tls ? "tls" : "plain", ...shown]
}

it.each([
  ["nats://localhost", ["localhost:4222", "plain"]],
  ["nats://localhost:80", ["localhost:80", "plain"]],
  ["nats://10.0.0.1:4333/", ["10.0.0.1:4333", "plain"]],
  ["nats://[::1]:4333", ["[::1]:4333", "plain"]],
  ["tls://nats.example.com", ["nats.example.com:4222", "tls"]],
  ["nats://user:1234:5678@host:4333", ["host:4333", "plain", "user", "1234:5678"]],
  ["nats://user:p%40ss%2Fword%23@host", ["host:4222", "plain", "user", "p@ss/word#"]],
  ["nats://s3cret@host", ["host:4222", "plain", "s3cret"]],
  ["nats://a:b@one:1111, nats://two:2222,nats://three", ["one:1111 two:2222 three:4222", "plain", "a", "b"]],
  ["nats://one,tls://two", ["one:4222 two:4222", "tls"]]
])("reads %s", (text, expected) => {
  expect(parse(text)).toEqual(expected)
})

it.each([
  ["", "it is empty"],
  [" , ", "it is empty"],
  ["localhost:4222", "it does not begin with nats:// or tls://"],
  ["http://localhost:4222", "it does not begin with nats:// or tls://"],
  ["nats://", "it does not begin with nats:// or tls://"],
  ["nats://host:99999", "it has no valid host and port"],
  ["nats://user:pass/word@host", "it has no valid host and port"],
  ["nats://host/path", "it has something after the port"],
  ["nats://host,redis://other", "address 2 does not begin with nats:// or tls://"]
])("refuses %j in one sentence", (text, reason) => {
  expect(parse(text)).toContain(`NATS_URL is not usable: ${reason}`)
})

it("never repeats a password in a fault", () => {
  for (const text of ["nats://user:hunter2@host:99999", "nats:/user:hunter2@host", "nats://u:hunter2@host/x"]) {
    expect(parse(text)).toMatch(/^NATS_URL is not usable/)
    expect(parse(text)).not.toContain("hunter2")
  }
})
