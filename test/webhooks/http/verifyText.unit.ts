/**
 * The documentation's way to check a delivery: its test vector is what the platform sends, and the code in each language accepts it and nothing
 * else.
 */
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Webhook } from "standardwebhooks"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { snippets, testVector, verifyText } from "../../../src/webhooks/http/verifyText.ts"
import { deliveryHeaders, verifyWebhook } from "../../../src/webhooks/secret/signature.ts"
import { needing } from "../../support/needs.ts"

const { body, eventId, secret, signature, standardSignature, timestamp } = testVector

let folder = ""
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-verify-"))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe("the test vector", () => {
  const headers = deliveryHeaders({ eventId, nowMillis: timestamp * 1000, rawBody: body, secrets: [secret] })

  it("is what the platform sends, in both schemes", () => {
    expect(headers).toMatchObject({
      "X-PlatformWebhook-Signature": signature,
      "X-PlatformWebhook-Timestamp": String(timestamp),
      "webhook-id": eventId,
      "webhook-timestamp": String(timestamp),
      "webhook-signature": standardSignature
    })
    expect(verifyWebhook(body, headers, secret, 300, timestamp * 1000)).toEqual(JSON.parse(body))
  })

  it("is accepted by the published package of Standard Webhooks at that time", () => {
    vi.useFakeTimers({ now: timestamp * 1000 })
    try {
      expect(new Webhook(secret).verify(body, { ...headers })).toEqual(JSON.parse(body))
    } finally {
      vi.useRealTimers()
    }
  })

  it("stands in the text with everything that a receiver needs", () => {
    const text = verifyText()
    for (const part of [secret, String(timestamp), body, signature, standardSignature, ...Object.values(snippets)]) {
      expect(text).toContain(part)
    }
  })
})

/** What a delivery may be changed in, and whether it is to be accepted. */
const cases: ReadonlyArray<
  readonly [secret: string, timestamp: string, signature: string, body: string, now: number, accepted: boolean]
> = [
  [secret, `${timestamp}`, signature, body, timestamp, true],
  [
    secret,
    `${timestamp}`,
    `${signature.split(",")[0]},v1=${"0".repeat(64)},${signature.split(",")[1]}`,
    body,
    timestamp + 300,
    true
  ],
  [secret, `${timestamp}`, signature, body, timestamp + 301, false],
  [secret, `${timestamp}`, signature, body, timestamp - 301, false],
  [secret, `${timestamp + 1}`, signature, body, timestamp, false],
  [secret, `${timestamp}`, signature, `${body} `, timestamp, false],
  [secret.slice("whsec_".length), `${timestamp}`, signature, body, timestamp, false],
  [secret, `${timestamp}`, "t=1767225600,v1=", body, timestamp, false],
  [secret, `${timestamp}`, "", body, timestamp, false]
]

/** Runs a program over all cases, given as JSON in a file; it prints one `true` or `false` a line. */
const answers = (
  program: string,
  args: ReadonlyArray<string>,
  options: { readonly cwd?: string } = {}
): ReadonlyArray<boolean> =>
  execFileSync(program, [...args], {
    encoding: "utf8",
    env: { ...process.env, GOCACHE: join(folder, "go"), GOFLAGS: "-mod=mod" },
    ...options
  })
    .trim()
    .split("\n")
    .map((line) => line === "true")

const file = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const expected = cases.map((one) => one[5])
const input = () => file("cases.json", JSON.stringify(cases))

describe("the code of the documentation", () => {
  it("in TypeScript accepts what is signed and fresh, and nothing else", () => {
    const program = `${snippets.typescript}
import { readFileSync } from "node:fs"
for (const [secret, timestamp, signature, body, now] of JSON.parse(readFileSync(process.argv[2]!, "utf8")))
  console.log(verify(secret, timestamp, signature, Buffer.from(body), now))
`
    expect(answers(process.execPath, [file("verify.ts", program), input()])).toEqual(expected)
  })

  it("in Python accepts what is signed and fresh, and nothing else", needing("python3"), () => {
    const program = `${snippets.python}

import json, sys
for secret, timestamp, signature, body, now, _ in json.load(open(sys.argv[1])):
    print("true" if verify(secret, timestamp, signature, body.encode(), now) else "false")
`
    expect(answers("python3", [file("verify.py", program), input()])).toEqual(expected)
  })

  it("in Go accepts what is signed and fresh, and nothing else", needing("go"), () => {
    const place = join(folder, "gocheck")
    mkdirSync(join(place, "webhook"), { recursive: true })
    writeFileSync(join(place, "go.mod"), "module check\n\ngo 1.19\n")
    writeFileSync(join(place, "webhook", "verify.go"), snippets.go)
    writeFileSync(
      join(place, "main.go"),
      `package main

import (
	"check/webhook"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

func main() {
	text, _ := os.ReadFile(os.Args[1])
	var cases [][]any
	_ = json.Unmarshal(text, &cases)
	for _, one := range cases {
		now := time.Unix(int64(one[4].(float64)), 0)
		fmt.Println(webhook.Verify(one[0].(string), one[1].(string), one[2].(string), []byte(one[3].(string)), now))
	}
}
`
    )
    expect(answers("go", ["run", ".", input()], { cwd: place })).toEqual(expected)
  })

  it("in PHP accepts what is signed and fresh, and nothing else", needing("php"), () => {
    const program = `<?php
${snippets.php}
foreach (json_decode(file_get_contents($argv[1]), true) as [$secret, $timestamp, $signature, $body, $now]) {
    echo verify($secret, $timestamp, $signature, $body, $now) ? "true\\n" : "false\\n";
}
`
    expect(answers("php", [file("verify.php", program), input()])).toEqual(expected)
  })
})
