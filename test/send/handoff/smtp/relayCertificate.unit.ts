/** The certificate of a relay, as its check sees it: its end is reported, and the name is still compared. */
import type { PeerCertificate } from "node:tls"
import { expect, it } from "vitest"
import { parseRelayAddress, tlsOptions } from "../../../../src/send/handoff/smtp/relayAddress.ts"

const certificate = {
  subject: { CN: "relay.example.com" },
  subjectaltname: "DNS:relay.example.com",
  valid_to: "Jan  2 03:04:05 2030 GMT"
} as PeerCertificate

it.each([
  "smtp://relay.example.com:587",
  "smtps://relay.example.com"
])("reports the end, and refuses another name: %s", (url) => {
  const ends: Array<number> = []
  const { tls } = tlsOptions(parseRelayAddress(url)!, "required", (until) => ends.push(until))
  expect(tls.rejectUnauthorized).toBe(true)
  expect(tls.checkServerIdentity("relay.example.com", certificate)).toBeUndefined()
  expect(tls.checkServerIdentity("other.example.com", certificate)).toMatchObject({
    code: "ERR_TLS_CERT_ALTNAME_INVALID"
  })
  expect(tls.checkServerIdentity("relay.example.com", { ...certificate, valid_to: "" })).toBeUndefined()
  expect(ends).toEqual([Date.UTC(2030, 0, 2, 3, 4, 5), Date.UTC(2030, 0, 2, 3, 4, 5)])
})
