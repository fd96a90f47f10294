/**
 * `sluice serve` obeys the settings of webhooks: the allowed targets, and the key under which signing secrets are stored, with servers of its
 * own and with named ones.
 */
import { readFile, stat } from "node:fs/promises"
import { join } from "node:path"
import { beforeAll, describe, expect, inject, it } from "vitest"
import { commandHere, startPlatformHere } from "../support/here.ts"
import type { RunningPlatform } from "../support/platform.ts"
import { askAt } from "../webhooks/platform.ts"
import { refusal, until, useDatabases, useFolders } from "./support.ts"

const database = useDatabases()
const folder = useFolders()

const anyTarget = /^ {2}Webhooks may go to any address, http on this machine included \(SLUICE_WEBHOOK_TARGETS=any\)$/m
const keyed = { "idempotency-key": "once" }
const create = (platform: RunningPlatform, key: string, url: string, headers = {}) =>
  askAt(platform.url, key)("POST", "/v1/webhooks", { url, enabled_events: ["*"] }, headers)

/** Runs a platform for as long as `use` takes. */
const during = async <A>(
  environment: Record<string, string>,
  dataDir: string,
  use: (platform: RunningPlatform) => Promise<A>
): Promise<A> => {
  const platform = await startPlatformHere(environment, dataDir)
  try {
    return await use(platform)
  } finally {
    await platform.stop()
  }
}

describe("serve with servers of its own", () => {
  let dataDir = ""
  let demoKey = ""
  let first: unknown

  beforeAll(async () => {
    dataDir = join(await folder(), "data")
  })

  it("[platform 6.9] lets webhooks go anywhere, http on this machine included, and says so", async () => {
    await during({}, dataDir, async (platform) => {
      demoKey = platform.demoKey!
      expect(platform.stderr()).toMatch(anyTarget)
      expect((await create(platform, demoKey, "http://localhost:3000/hook")).status).toBe(201)
      expect((await create(platform, demoKey, "http://hooks.example.com")).body).toStrictEqual({
        error: "Webhook URL must use HTTPS"
      })
      const made = await create(platform, demoKey, "https://hooks.example.com", keyed)
      expect(made.status).toBe(201)
      first = made.body
    })
  })

  it("[platform 6.9] makes a key that its owner alone reads, and finds it again; in production webhooks are public", async () => {
    const file = join(dataDir, "secrets", "secrets.key")
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    const key = (await readFile(file, "utf8")).trim()
    expect(Buffer.from(key, "base64url")).toHaveLength(32)
    await during({ NODE_ENV: "production" }, dataDir, async (platform) => {
      expect(platform.stderr()).not.toMatch(/Webhooks may go/)
      expect((await create(platform, demoKey, "http://localhost:3000/hook")).body).toStrictEqual({
        error: "Webhook URL must use HTTPS"
      })
      // What was sealed by the first start opens.
      const again = await create(platform, demoKey, "https://hooks.example.com", keyed)
      expect(again.headers.get("idempotency-replayed")).toBe("true")
      expect(again.body).toStrictEqual(first)
      expect(`${platform.stdout()}${platform.stderr()}`).not.toContain(key)
    })
  })
})

describe("serve with a named database", () => {
  const [one, other] = ["1a".repeat(32), "2b".repeat(32)]
  let named: Record<string, string> = {}

  beforeAll(async () => {
    const url = await database("seeded")
    named = {
      DATABASE_URL: url,
      NATS_URL: inject("natsUrl"),
      SLUICE_PORT: "0",
      SLUICE_DEMO_KEY: `sk_live_${"Ab1".repeat(8)}`
    }
  })

  const refused = async (environment: Record<string, string>) =>
    refusal(await commandHere(["serve"], { ...named, SLUICE_DATA_DIR: await folder(), ...environment }))

  it("is refused without a key, before anything is done", async () => {
    expect(await refused({ SLUICE_SECRETS_KEY: "" })).toBe(
      "sluice: Webhooks' signing secrets are stored encrypted, and with a PostgreSQL of your own the key has to be yours too: set SLUICE_SECRETS_KEY, for example to what `openssl rand -base64 32` prints, and keep it"
    )
  })

  it("is refused under another key than what is stored needs, takes both, and then the new one alone", async () => {
    const key = named.SLUICE_DEMO_KEY!
    await during({ ...named, SLUICE_SECRETS_KEY: one }, await folder(), async (platform) => {
      expect(platform.stderr()).not.toMatch(/Webhooks may go/)
      expect((await create(platform, key, "https://hooks.example.com", keyed)).status).toBe(201)
    })
    const sentence = await refused({ SLUICE_SECRETS_KEY: other })
    expect(sentence).toMatch(
      /^sluice: Webhooks' signing secrets in this database were stored under another key \([0-9a-f]{8}\) than those in SLUICE_SECRETS_KEY, or without it in the data folder's secrets\/secrets\.key: put that key behind the new one there, separated by a comma$/
    )
    expect(sentence).not.toContain(one)
    await during({ ...named, SLUICE_SECRETS_KEY: `${other},${one}` }, await folder(), async (platform) => {
      const again = await create(platform, key, "https://hooks.example.com", keyed)
      expect(again.headers.get("idempotency-replayed")).toBe("true")
      await until(() => platform.stderr().includes("No secret needs the older keys in SLUICE_SECRETS_KEY any more"))
      expect((await fetch(`${platform.url}/metrics`).then((reply) => reply.text())).split("\n")).toContainEqual(
        expect.stringMatching(/^sluice_webhook_secrets_under_older_keys(\{.*\})? 0$/)
      )
    })
    await during({ ...named, SLUICE_SECRETS_KEY: other }, await folder(), async (platform) => {
      const again = await create(platform, key, "https://hooks.example.com", keyed)
      expect(again.headers.get("idempotency-replayed")).toBe("true")
    })
  })
})
