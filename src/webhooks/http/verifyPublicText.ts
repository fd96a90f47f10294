/**
 * Writes the documentation's text on how a receiver checks a delivery with a public key: a test vector, and code in five
 * languages, which a test runs on the vector. Pure.
 */

/** A delivery for trying out a receiver's code. */
export const publicVector = {
  privateText:
    "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY= whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2DXWpgBgrEKt9VL/tPJZAc6DuFy89qmIyWvAhpo9wdRGg==",
  publicKey: "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
  id: "evt_00040000-0001-8000-8000-0000d0000000",
  timestamp: "1767225600",
  body: '{"eventId":"evt_00040000-0001-8000-8000-0000d0000000","type":"telco.lookup.completed","service":"telco","data":{"tn":"2125560123","npa":"212","nxx":"556","hasCarrier":true,"hasInventory":false},"livemode":true,"createdAt":1767225600000}',
  signature: "v1a,f5AG1UNJLQlHNcga2O1klQf+H/9jAXPSM0LizmHgpKBOY7O64pZbp2cpAnkEMVuJShXKLyhQrRV8IZDBTeQ2Cw=="
} as const

/** Code that checks a delivery: each defines a function of the public key, the three values and the body. */
export const publicSnippets = {
  javascript: `// curl -s "$API/.well-known/webhook-keys?endpoint=$ID" prints the keys; run this with Node.
const { createPublicKey, verify: verifyWith } = require("node:crypto")

function verify(publicKey, id, timestamp, signatures, body, now = Date.now() / 1000) {
  const x = Buffer.from(publicKey.slice(5), "base64").toString("base64url")
  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" })
  const content = Buffer.concat([Buffer.from(id + "." + timestamp + "."), Buffer.from(body)])
  const fits = signatures.split(" ").filter((part) => part.startsWith("v1a,"))
    .some((part) => verifyWith(null, content, key, Buffer.from(part.slice(4), "base64")))
  return fits && Math.abs(now - Number(timestamp)) <= 300
}`,
  python: `import base64, time
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

def verify(public_key, id, timestamp, signatures, body, now=None):
    key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key[5:]))
    if abs((time.time() if now is None else now) - int(timestamp)) > 300:
        return False
    for part in signatures.split(" "):
        if part.startswith("v1a,"):
            try:
                key.verify(base64.b64decode(part[4:]), id.encode() + b"." + timestamp.encode() + b"." + body)
                return True
            except (InvalidSignature, ValueError):
                pass
    return False`,
  php: `function verify(string $publicKey, string $id, string $timestamp, string $signatures, string $body, ?int $now = null): bool {
    if (abs(($now ?? time()) - (int) $timestamp) > 300) {
        return false;
    }
    foreach (explode(' ', $signatures) as $part) {
        $signature = str_starts_with($part, 'v1a,') ? base64_decode(substr($part, 4)) : '';
        if (strlen($signature) === 64 && sodium_crypto_sign_verify_detached(
            $signature, $id . '.' . $timestamp . '.' . $body, base64_decode(substr($publicKey, 5)))) {
            return true;
        }
    }
    return false;
}`,
  go: `package webhook

import (
	"crypto/ed25519"
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"time"
)

func Verify(publicKey, id, timestamp, signatures string, body []byte, now time.Time) bool {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(publicKey, "whpk_"))
	sent, notTime := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || notTime != nil || len(key) != 32 || math.Abs(float64(now.Unix()-sent)) > 300 {
		return false
	}
	content := append([]byte(id+"."+timestamp+"."), body...)
	for _, part := range strings.Split(signatures, " ") {
		signature, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(part, "v1a,"))
		if err == nil && strings.HasPrefix(part, "v1a,") && ed25519.Verify(key, content, signature) {
			return true
		}
	}
	return false
}`,
  typescript: `import { verifyWebhook } from "sluice/webhook"

// Throws where it does not fit; gives the event. A list of keys fits during a rotation.
export const event = (publicKey: string, headers: Headers, body: string) => verifyWebhook(body, headers, publicKey)`
} as const

const titles: Readonly<Record<keyof typeof publicSnippets, string>> = {
  javascript: "curl and Node",
  python: "Python (with the package cryptography)",
  php: "PHP",
  go: "Go",
  typescript: "TypeScript"
}

/** The section of the documentation, in Markdown. */
export const verifyPublicText = (): string => {
  const code = Object.entries(publicSnippets).map(
    ([language, text]) => `**${titles[language as keyof typeof publicSnippets]}**\n\n\`\`\`${language}\n${text}\n\`\`\``
  )
  const { body, id, publicKey, signature, timestamp } = publicVector
  return `### Verify a delivery with a public key

An endpoint with \`"asymmetric": true\` is signed with a private key too: \`webhook-signature\` then also has \`v1a,<base64>\`, the Ed25519 signature of
\`<id>.<timestamp>.<body>\`. \`GET /.well-known/webhook-keys?endpoint=<id>\` lists its public keys without an API key, the newest first; during a
rotation there are two, and both sign. Who has a public key can verify and cannot sign.

| | |
|---|---|
| Public key | \`${publicKey}\` |
| \`webhook-id\` | \`${id}\` |
| \`webhook-timestamp\` | \`${timestamp}\` |
| Body | \`${body}\` |
| \`webhook-signature\` | \`${signature}\` |

${code.join("\n\n")}`
}
