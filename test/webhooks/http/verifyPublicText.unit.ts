/**
 * The documentation's way to check a delivery with a public key: its vector is what the platform sends, and the code in each language accepts it and
 * nothing else.
 */
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { publicSnippets, publicVector, verifyPublicText } from "../../../src/webhooks/http/verifyPublicText.ts"
import { publicKeyOf, secretOf, withKeyPair } from "../../../src/webhooks/secret/keyPair.ts"
import { deliveryHeaders, verifyWebhook } from "../../../src/webhooks/secret/signature.ts"
import { needing } from "../../support/needs.ts"

const { body, id, privateText, publicKey, signature, timestamp } = publicVector

let folder = ""
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-public-"))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const nowMillis = Number(timestamp) * 1_000
const headers = deliveryHeaders({ eventId: id, nowMillis, rawBody: body, secrets: [privateText] })

describe("the vector", () => {
  it("is what the platform sends, beside the signature of the secret", () => {
    expect(publicKeyOf(privateText)).toBe(publicKey)
    const secret = secretOf(privateText)
    const shared = deliveryHeaders({ eventId: id, nowMillis, rawBody: body, secrets: [secret] })
    expect(headers).toEqual({ ...shared, "webhook-signature": `${shared["webhook-signature"]} ${signature}` })
    for (const key of [secret, publicKey])
      expect(verifyWebhook(body, headers, key, 300, nowMillis)).toEqual(JSON.parse(body))
  })

  it("is refused with another key, another body, too late, and with keys of both kinds in one list", () => {
    const refusing = (text: string, key: string | ReadonlyArray<string>, at = nowMillis) =>
      expect(() => verifyWebhook(text, headers, key, 300, at))
    const other = publicKeyOf(withKeyPair("whsec_x"))!
    refusing(body, other).toThrow("No signature")
    refusing(`${body} `, publicKey).toThrow("No signature")
    refusing(body, publicKey, nowMillis + 301_000).toThrow("off")
    refusing(body, [publicKey, "whsec_x"]).toThrow("not both")
    refusing(body, "whpk_AAAA").toThrow("32 bytes")
    expect(verifyWebhook(body, headers, [other, publicKey], 300, nowMillis).eventId).toBe(id)
  })

  it("stands in the text with the code", () => {
    for (const part of [publicKey, id, timestamp, body, signature, ...Object.values(publicSnippets)])
      expect(verifyPublicText()).toContain(part)
  })
})

type Case = readonly [key: string, id: string, timestamp: string, signatures: string, body: string, now: number]

const at = Number(timestamp)
const cases: ReadonlyArray<readonly [...Case, accepted: boolean]> = [
  [publicKey, id, timestamp, signature, body, at, true],
  [publicKey, id, timestamp, `v1,AAAA v1a,AAAA ${signature}`, body, at + 300, true],
  [publicKey, id, timestamp, signature, body, at + 301, false],
  [publicKey, id, timestamp, signature, `${body} `, at, false],
  [publicKey, "evt_1", timestamp, signature, body, at, false],
  [publicKey, id, `${at + 1}`, signature, body, at, false],
  [publicKey, id, timestamp, signature.replace("v1a,", "v1,"), body, at, false],
  ["whpk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", id, timestamp, "v1a,AAAA", body, at, false]
]
const expected = cases.map((one) => one[6])

const file = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}
const input = () => file("cases.json", JSON.stringify(cases))

const answers = (program: string, args: ReadonlyArray<string>, cwd = folder): ReadonlyArray<boolean> =>
  execFileSync(program, [...args], {
    encoding: "utf8",
    cwd,
    env: { ...process.env, GOCACHE: join(folder, "go"), GOFLAGS: "-mod=mod" }
  })
    .trim()
    .split("\n")
    .map((line) => line === "true")

describe("the code of the documentation", () => {
  it("in Node accepts what is signed and fresh, and nothing else", () => {
    const program = `${publicSnippets.javascript}
for (const [key, id, timestamp, signatures, body, now] of JSON.parse(require("node:fs").readFileSync(process.argv[2], "utf8")))
  console.log(verify(key, id, timestamp, signatures, body, now))
`
    expect(answers(process.execPath, [file("verify.cjs", program), input()])).toEqual(expected)
  })

  it("in Python accepts what is signed and fresh, and nothing else", needing("pythonCryptography"), () => {
    const program = `${publicSnippets.python}

import json, sys
for key, id, timestamp, signatures, body, now, _ in json.load(open(sys.argv[1])):
    print(str(verify(key, id, timestamp, signatures, body.encode(), now)).lower())
`
    expect(answers("python3", [file("verify.py", program), input()])).toEqual(expected)
  })

  it("in Go accepts what is signed and fresh, and nothing else", needing("go"), () => {
    const place = join(folder, "gocheck")
    mkdirSync(join(place, "webhook"), { recursive: true })
    writeFileSync(join(place, "go.mod"), "module check\n\ngo 1.19\n")
    writeFileSync(join(place, "webhook", "verify.go"), publicSnippets.go)
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
		now := time.Unix(int64(one[5].(float64)), 0)
		fmt.Println(webhook.Verify(one[0].(string), one[1].(string), one[2].(string), one[3].(string), []byte(one[4].(string)), now))
	}
}
`
    )
    expect(answers("go", ["run", ".", input()], place)).toEqual(expected)
  })

  it("in PHP accepts what is signed and fresh, and nothing else", needing("php"), () => {
    const program = `<?php
${publicSnippets.php}
foreach (json_decode(file_get_contents($argv[1]), true) as $one) {
    echo verify($one[0], $one[1], $one[2], $one[3], $one[4], $one[5]) ? "true" : "false", "\n";
}
`
    expect(answers("php", [file("verify.php", program), input()])).toEqual(expected)
  })
})
