/**
 * Writes the documentation's text on how a receiver checks a delivery: names, formula, key, a test vector, and code in
 * four languages, which a test runs on the vector. Pure.
 */
import { failingAfterFailures, pausedAfterFailures } from "../endpoint/model.ts"
import {
  defaultToleranceSeconds,
  eventIdHeader,
  signatureHeader,
  standardIdHeader,
  standardSignatureHeader,
  standardTimestampHeader,
  timestampHeader
} from "../secret/signature.ts"

/** A delivery for trying out a receiver's code. */
export const testVector = {
  secret: "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
  eventId: "evt_00040000-0001-8000-8000-0000d0000000",
  timestamp: 1767225600,
  body: '{"eventId":"evt_00040000-0001-8000-8000-0000d0000000","type":"telco.lookup.completed","service":"telco","data":{"tn":"2125560123","npa":"212","nxx":"556","hasCarrier":true,"hasInventory":false},"livemode":true,"createdAt":1767225600000}',
  signature: "t=1767225600,v1=68208ff46a2313d070a940f32bf30578d6768ae5695c40573d11969ce4143abb",
  standardSignature: "v1,A3AEk5klRaKVfJXv4XYjRGg5QcTruy5kLwlG1JsA77A="
}

/** Code that checks a delivery: each defines a function of the secret, the three values and the tolerance. */
export const snippets = {
  typescript: `import { createHmac, timingSafeEqual } from "node:crypto"

export function verify(secret: string, timestamp: string, signature: string, body: Buffer, now = Date.now() / 1000) {
  const expected = createHmac("sha256", secret).update(timestamp + ".").update(body).digest()
  const fits = signature.split(",").filter((part) => part.startsWith("v1="))
    .some((part) => {
      const given = Buffer.from(part.slice(3), "hex")
      return given.length === expected.length && timingSafeEqual(given, expected)
    })
  return fits && Math.abs(now - Number(timestamp)) <= 300
}`,
  python: `import hashlib, hmac, time

def verify(secret, timestamp, signature, body, now=None):
    expected = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    given = [part[3:] for part in signature.split(",") if part.startswith("v1=")]
    fits = any(hmac.compare_digest(expected, one) for one in given)
    return fits and abs((time.time() if now is None else now) - int(timestamp)) <= 300`,
  go: `package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"
)

func Verify(secret, timestamp, signature string, body []byte, now time.Time) bool {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	expected := []byte(hex.EncodeToString(mac.Sum(nil)))
	sent, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || math.Abs(float64(now.Unix()-sent)) > 300 {
		return false
	}
	for _, part := range strings.Split(signature, ",") {
		if strings.HasPrefix(part, "v1=") && hmac.Equal([]byte(part[3:]), expected) {
			return true
		}
	}
	return false
}`,
  php: `function verify(string $secret, string $timestamp, string $signature, string $body, ?int $now = null): bool {
    $expected = hash_hmac('sha256', $timestamp . '.' . $body, $secret);
    if (abs(($now ?? time()) - (int) $timestamp) > 300) {
        return false;
    }
    foreach (explode(',', $signature) as $part) {
        if (str_starts_with($part, 'v1=') && hash_equals($expected, substr($part, 3))) {
            return true;
        }
    }
    return false;
}`
} as const

const titles: Readonly<Record<keyof typeof snippets, string>> = {
  typescript: "TypeScript",
  python: "Python",
  go: "Go",
  php: "PHP"
}

/** The section of the documentation, in Markdown. */
export const verifyText = (): string => {
  const code = Object.entries(snippets).map(
    ([language, text]) => `**${titles[language as keyof typeof snippets]}**\n\n\`\`\`${language}\n${text}\n\`\`\``
  )
  const { body, secret, signature, standardSignature, timestamp } = testVector
  return `### Verify a delivery

Every delivery is a POST with the event as JSON and these headers:

| Header | Value |
|---|---|
| \`${signatureHeader}\` | \`t=<timestamp>,v1=<hex>\`; two \`v1\` during a rotation, one for each secret |
| \`${eventIdHeader}\` | The event's id: the same in every attempt and replay, so remember it where an event must not be handled twice |
| \`${timestampHeader}\` | Unix seconds of this attempt |
| \`Content-Type\` | \`application/json\` |
| \`User-Agent\` | \`PlatformWebhook/1.0\` |

The signature is the hexadecimal HMAC-SHA256 of \`<timestamp>.<body>\`, the body being the bytes as they came, before any parsing. The key is the whole
signing secret as text, \`whsec_\` included. Compare in constant time, refuse what is more than ${defaultToleranceSeconds} s old or ahead, and answer 400 where
nothing fits.

Beside them stand the headers of [Standard Webhooks](https://www.standardwebhooks.com), so its libraries verify a delivery with the same secret:
\`${standardIdHeader}\`, \`${standardTimestampHeader}\`, and \`${standardSignatureHeader}\` (\`v1,<base64>\`, several with a space between them), the HMAC of
\`<id>.<timestamp>.<body>\`, whose key is what follows \`whsec_\` in the secret, decoded from base64. Secrets made before these headers existed have none until they
are rotated.

Try your code on this one (the clock being at the timestamp):

| | |
|---|---|
| Secret | \`${secret}\` |
| Timestamp | \`${timestamp}\` |
| Body | \`${body}\` |
| \`${signatureHeader}\` | \`${signature}\` |
| \`${standardSignatureHeader}\` | \`${standardSignature}\` |

${code.join("\n\n")}

### Delivery and retries

| | |
|---|---|
| Success | Any status 2xx within 15 s, whatever the body; the first 64 KB of an answer are read and 1 KB is kept |
| Redirects | Are not followed, and fail |
| Retries | ${maximumRetriesText}, each up to 20 % later; later still where a 429 or 503 says so in \`Retry-After\` (at most 1 h) |
| ${failingAfterFailures} failed deliveries in a row | Event \`platform.webhook.failing\` |
| ${pausedAfterFailures} failed deliveries in a row, or one answer 410 | The endpoint is paused, event \`platform.webhook.paused\`; \`unpause\` resumes it |
| Order | None is promised; deliveries are at least once |

### Keys, limits and repeats

| | |
|---|---|
| Scopes | \`platform:webhooks:read\` for every GET here, \`platform:webhooks:manage\` for every POST, PATCH and DELETE; \`platform:events:read\` or \`platform:webhooks:read\` for the event log |
| Rate | \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\`, \`X-RateLimit-Reset\` (Unix seconds) on every counted answer; 429 with \`Retry-After\` |
| Repeats | \`Idempotency-Key\` on every POST, 24 h; a repeat is answered with \`Idempotency-Replayed: true\` |`
}

const maximumRetriesText = "After the attempt before: 5 s, then 30 s, then 2 min, then 15 min, then 1 h"
