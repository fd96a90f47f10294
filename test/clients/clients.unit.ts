/** The generated parts of the clients are as openapi.json has them, and their vectors are those of Standard Webhooks. */
import { execFileSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Webhook } from "standardwebhooks"
import { describe, expect, it } from "vitest"
import { verifyWebhook } from "../../src/webhooks/secret/signature.ts"

const clients = fileURLToPath(new URL("../../clients/", import.meta.url))

interface Vector {
  readonly name: string
  readonly secrets: ReadonlyArray<string>
  /** Unix seconds. */
  readonly now: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly valid: boolean
}

const vectors = JSON.parse(readFileSync(`${clients}vectors.json`, "utf8")) as ReadonlyArray<Vector>

const isTaken = (verify: () => unknown): boolean => {
  try {
    verify()
    return true
  } catch {
    return false
  }
}

describe("the clients", () => {
  it("have the operations of openapi.json; `npm run clients` writes them anew", () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-clients-"))
    try {
      execFileSync(process.execPath, [`${clients}generate.ts`, folder])
      for (const part of ["typescript/generated", "python/sluice", "go"]) {
        const files = readdirSync(join(folder, part), { recursive: true, withFileTypes: true })
        for (const { name, parentPath } of files.filter((entry) => entry.isFile())) {
          const path = join(parentPath, name).slice(folder.length + 1)
          expect(readFileSync(`${clients}${path}`, "utf8"), path).toBe(readFileSync(join(folder, path), "utf8"))
        }
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it("check signatures that Standard Webhooks' own package takes, and refuse what it refuses", () => {
    const standard = vectors.filter(({ headers }) => "webhook-id" in headers)
    expect(standard.length).toBeGreaterThan(5)
    for (const { body, headers, name, now, secrets, valid } of standard) {
      // It has no clock to set, so the time of these is checked by ours alone.
      const sent = Number(headers["webhook-timestamp"])
      if (sent !== now) continue
      const fresh = Math.floor(Date.now() / 1000)
      const signed = (secret: string) => new Webhook(secret).sign(headers["webhook-id"]!, new Date(sent * 1000), body)
      const isSigned = secrets.some((secret) => headers["webhook-signature"]!.split(" ").includes(signed(secret)))
      expect(isSigned, name).toBe(valid)
      if (!valid) continue
      const again = new Webhook(secrets[0]!).sign(headers["webhook-id"]!, new Date(fresh * 1000), body)
      const present = { ...headers, "webhook-timestamp": `${fresh}`, "webhook-signature": again }
      expect(
        isTaken(() => new Webhook(secrets[0]!).verify(body, present)),
        name
      ).toBe(true)
    }
  })

  it("check what the platform's own function checks", () => {
    const own = vectors.filter(({ headers }) => !("webhook-id" in headers))
    for (const { body, headers, name, now, secrets, valid } of own) {
      expect(
        isTaken(() => verifyWebhook(body, headers, secrets, 300, now * 1000)),
        name
      ).toBe(valid)
    }
  })
})
