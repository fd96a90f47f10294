/** How long an API key that is in use is still taken after its revocation was answered (docs/platform.md, 2.3: a second at most). */
import { ask } from "../../support/ask.ts"
import { atMost, type Benchmark, benchmark, type Round } from "../runner/benchmark.ts"
import { ChildFailed } from "../runner/child.ts"
import { addressesOf, filledDataFolder, startPlatform } from "../runner/platform.ts"
import { median } from "../runner/result.ts"

/** Keys that are made, used and revoked in a round, one after the other. */
const keys = 50
const lookMillis = 2

const adminKey = `adm_${"Cd4".repeat(10)}`

const revocations = async ({ adminUrl, url }: Awaited<ReturnType<typeof addressesOf>>) => {
  const admin = <A = unknown>(method: string, path: string, body?: object) =>
    ask<A>(() => `${adminUrl}/admin/v1${path}`, { bearer: adminKey, method, ...(body === undefined ? {} : { body }) })
  const statusOf = async (key: string) => {
    const answer = await fetch(`${url}/v1/carrier/9104`, { headers: { authorization: `Bearer ${key}` } })
    await answer.arrayBuffer()
    return answer.status
  }
  const organization = await admin<{ readonly id: string }>("POST", "/organizations", { name: "Keys", plan: "team" })
  const millis: Array<number> = []
  for (let made = 0; made < keys; made++) {
    const { id, key } = await admin<{ readonly id: string; readonly key: string }>(
      "POST",
      `/organizations/${organization.id}/keys`,
      { services: ["directory"], scopes: [] }
    )
    if ((await statusOf(key)) !== 200) throw new ChildFailed("a new key is not taken")
    await admin("DELETE", `/keys/${id}`)
    const revoked = performance.now()
    while ((await statusOf(key)) !== 401) await new Promise((resolve) => setTimeout(resolve, lookMillis))
    millis.push(performance.now() - revoked)
  }
  return millis
}

const measure = async ({ watched, workbench }: Round) => {
  const dataFolder = await filledDataFolder(workbench, "revoking")
  const platform = await startPlatform(workbench, { dataFolder, env: { SLUICE_ADMIN_KEY: adminKey } })
  try {
    const millis = await watched(async () => revocations(await addressesOf(dataFolder)))
    return { middle: median(millis), worst: Math.max(...millis) }
  } finally {
    await platform.stop()
  }
}

export const keysBenchmarks: ReadonlyArray<Benchmark> = [
  benchmark({
    name: "keys/revoked",
    sides: { sluice: measure },
    rows: [
      { name: "median", unit: "ms", figure: ({ sluice }) => sluice.middle },
      { name: "worst", unit: "ms", figure: ({ sluice }) => sluice.worst, goal: atMost(1_000), over: "worst" }
    ]
  })
]
