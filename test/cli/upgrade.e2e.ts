/**
 * A rolling upgrade, node by node, of two nodes that emails are sent through meanwhile. The older build is made here of the same source, with what it did not
 * know taken out of it: the size of contents, which it would fold away. Nothing is lost, no format that a node does not know is written while it is about, and
 * there is no way back.
 */
import { type ConsumerMessages, jetstream } from "@nats-io/jetstream"
import { connect, type NatsConnection } from "@nats-io/transport-node"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { knownFormats } from "../../src/common/formatLevels.ts"
import { logNamespaceOf, type Platform, start, startPlatform } from "../support/platform.ts"
import { bundleProgram, type Program, type Replacement } from "../support/program.ts"
import { askAdmin, makeTenant, refusal, until, useDatabases, useFolders } from "./support.ts"

const database = useDatabases()
const folder = useFolders()
/** The level of this build. */
const { newest } = knownFormats
const adminKey = `adm_${"Up1".repeat(10)}`
const partitions = 4
const organizations = 4

/** How many more emails of each organization have to be answered before the upgrade goes on. */
const between = 5

/** More than is sent here. */
const caps = { emailsPerHour: 5_000, emailsPerDay: 5_000, domainsPerHour: 100 }

/** What the older build did not have. */
const older: ReadonlyArray<Replacement> = [
  { file: "src/common/version.ts", from: "= packageJson.version", to: '= "0.0.9"' },
  { file: "src/common/formatLevels.ts", from: "contentSizes: 2,", to: "" },
  { file: "src/common/formatLevels.ts", from: "orderedDeliveries: 3,", to: "" },
  { file: "src/common/formatLevels.ts", from: "endpointLabels: 4,", to: "" },
  { file: "src/common/formatLevels.ts", from: "ingestPlaces: 5,", to: "" },
  { file: "src/common/formatLevels.ts", from: "rebuildsFromStates: 6", to: "" },
  {
    file: "src/send/account/actors/model.ts",
    from: "const bytes = { bytes: Schema.optionalKey(Schema.Finite) }",
    to: "const bytes = {}"
  },
  {
    file: "src/send/account/actors/model.ts",
    from: "  bytes: Schema.optionalKey(Schema.Finite),\n  acceptedAt: Schema.Finite,",
    to: "  acceptedAt: Schema.Finite,"
  },
  {
    file: "src/send/account/actors/decideAdmission.ts",
    from: "...(bytes === undefined || this.context.level < formatLevels.contentSizes ? {} : { bytes })",
    to: ""
  },
  { file: "src/send/emails/AcceptEmails.ts", from: "...kept[index]! })", to: "pointer: kept[index]!.pointer })" }
]

let databaseUrl = ""
let build: Program
let log: NatsConnection
const nodes: Record<"one" | "two", Platform | undefined> = { one: undefined, two: undefined }

const environment = (name: string) => ({
  DATABASE_URL: databaseUrl,
  NATS_URL: inject("natsUrl"),
  SLUICE_ADMIN_KEY: adminKey,
  SLUICE_PLACEMENT: "cluster",
  SLUICE_NODE: name,
  SLUICE_PARTITIONS: String(partitions),
  SLUICE_DEMO: "off"
})

const startNode = async (name: "one" | "two", program?: string) => {
  nodes[name] = await startPlatform(environment(name), await folder(), program)
}

const living = (): ReadonlyArray<Platform> => Object.values(nodes).filter((node) => node !== undefined)

interface Shown {
  readonly level: number
  readonly nodes: ReadonlyArray<{ readonly name: string; readonly version: string; readonly level: number }>
  readonly partitions: ReadonlyArray<{ readonly status: string; readonly node: string; readonly sequence: number }>
}

const status = async (name: "one" | "two"): Promise<Shown> =>
  (await askAdmin(nodes[name]!, "GET", "/cluster")) as unknown as Shown

/** Until both serve something, and together every partition. */
const untilSpread = (name: "one" | "two") =>
  until(async () => {
    const shown = await status(name)
    return (
      shown.partitions.every((one) => one.status === "Serving") &&
      new Set(shown.partitions.map(({ node }) => node)).size === 2
    )
  })

/** Facts of accepted emails, as the logs have them, with their places. */
interface Accepted {
  readonly partition: number
  readonly sequence: number
  readonly id: string
  readonly bytes: number | undefined
}
const accepted: Array<Accepted> = []
const followers: Array<ConsumerMessages> = []

/** Reads a log from its beginning, before anything of it is purged. */
const follow = async (partition: number) => {
  const stream = `${logNamespaceOf(new URL(databaseUrl).pathname)}-log-${partition}`
  const consumer = await jetstream(log).consumers.get(stream)
  followers.push(
    await consumer.consume({
      callback: ({ data, seq: sequence }) => {
        const frame = JSON.parse(Buffer.from(data).toString())
        for (const [actor, fact] of frame.r ?? []) {
          const [kind, , id] = frame.a[actor]
          if (frame.k[kind][0] === "sendEmail" && fact?._tag === "Accepted")
            accepted.push({ partition, sequence, id, bytes: fact.bytes })
        }
      }
    })
  )
}

/** One organization's emails: the id that was answered for each idempotency key. */
class Sender {
  readonly answered = new Map<string, string>()
  private isGoing = true
  private readonly key: string
  private readonly domain: string
  private readonly done: Promise<void>
  /** Rejects when an answer is neither the email's nor one to come again. */
  readonly failed: Promise<never>

  constructor(key: string, domain: string) {
    this.key = key
    this.domain = domain
    this.done = this.go()
    this.failed = this.done.then(() => new Promise<never>(() => {}))
    this.failed.catch(() => {})
  }

  /** Sends one email until it is answered, at one node after the other, always under the same idempotency key. */
  async send(idempotencyKey: string): Promise<string> {
    for (let at = 0; ; at++) {
      const node = living()[at % Math.max(1, living().length)]
      const answer = await fetch(`${node?.url}/v1/send/emails`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${this.key}`,
          "content-type": "application/json",
          "idempotency-key": idempotencyKey
        },
        body: JSON.stringify({ from: `a@${this.domain}`, to: "bob@two.test", subject: idempotencyKey, text: "Hi" })
      }).then(
        async (response) => ({ status: response.status, text: await response.text() }),
        // The node is away.
        () => ({ status: 0, text: "" })
      )
      if (answer.status === 202) return JSON.parse(answer.text).id
      if (answer.status !== 0 && answer.status !== 503) throw new Error(`${answer.status} ${answer.text}`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }

  async stop(): Promise<void> {
    this.isGoing = false
    await this.done
  }

  private async go(): Promise<void> {
    for (let number = 0; this.isGoing; number++) {
      const key = `${this.domain} ${number}`
      this.answered.set(key, await this.send(key))
      await new Promise((resolve) => setTimeout(resolve, 150))
    }
  }
}

const senders: Array<Sender> = []

/** Until each organization has had some more emails answered. */
const someMore = async () => {
  const before = senders.map(({ answered }) => answered.size)
  await Promise.race([
    until(() => senders.every(({ answered }, index) => answered.size >= before[index]! + between)),
    ...senders.map(({ failed }) => failed)
  ])
}

beforeAll(async () => {
  databaseUrl = await database("seeded")
  build = await bundleProgram(older)
  await Promise.all([startNode("one", build.path), startNode("two", build.path)])
  await untilSpread("one")
  const { host, password, username } = new URL(inject("natsUrl"))
  log = await connect({ servers: host, user: username, pass: password })
  for (let partition = 0; partition < partitions; partition++) await follow(partition)
  for (let number = 0; number < organizations; number++) {
    const one = nodes.one!
    const { id, key } = await makeTenant(one, { name: `Organization ${number}`, sendPlan: "enterprise" }, "send")
    const limits = { emailsPerMonth: "unlimited", probation: caps, requestsPerMinute: "unlimited" }
    await askAdmin(one, "PUT", `/organizations/${id}/send/limits`, { mode: "live", ...limits })
    const domain = `org${number}.test`
    await fetch(`${one.url}/v1/send/domains`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ domain })
    })
    const word = { mode: "live", domain, unchecked: true }
    await askAdmin(one, "POST", `/organizations/${id}/send/domains/verify`, word)
    senders.push(new Sender(key, domain))
  }
})

afterAll(async () => {
  await Promise.allSettled(senders.map((sender) => sender.stop()))
  for (const follower of followers) follower.stop()
  await log?.close()
  await Promise.all(living().map((node) => node.stop()))
  await build?.remove()
})

const replace = async (name: "one" | "two") => {
  const leaving = nodes[name]!
  nodes[name] = undefined
  expect(await leaving.stop()).toMatchObject({ code: 0 })
  await startNode(name)
}

describe("a rolling upgrade", () => {
  /** Where each log ended before the last older node was told to stop. */
  let ends: ReadonlyArray<number> = []

  it("begins with older nodes alone", async () => {
    await someMore()
    // With the commit of the checkout behind it.
    const version = expect.stringMatching(/^0\.0\.9(\+|$)/)
    expect(await status("one")).toMatchObject({ level: 1, nodes: [{ version }, { version }] })
  })

  it("has both versions side by side, which write what both know", async () => {
    await replace("two")
    await untilSpread("two")
    await someMore()
    const shown = await status("two")
    expect(shown.level).toBe(1)
    expect(shown.nodes.map(({ level, name }) => [name, level])).toEqual([
      ["one", 1],
      ["two", newest]
    ])
    const ready = await (await fetch(`${nodes.two!.url}/readyz`)).text()
    expect(ready).toContain(`formats of level 1 are in force, and it knows ${newest}`)
    const metrics = await (await fetch(`${nodes.two!.url}/metrics`)).text()
    expect(metrics).toMatch(/^sluice_format_level\{.*kind="in force".*\} 1$/m)
    ends = shown.partitions.map(({ sequence }) => sequence)
  })

  it("writes the new format when the last older node has gone", async () => {
    await replace("one")
    // A node writes the new format once it has heard of it itself.
    for (const name of ["one", "two"] as const) await until(async () => (await status(name)).level === newest)
    await untilSpread("one")
    await someMore()
    await Promise.all(senders.map((sender) => sender.stop()))
    const asked = senders.flatMap(({ answered }) => [...answered.values()])
    await until(() => accepted.length >= asked.length)
    const sized = accepted.filter(({ bytes }) => bytes !== undefined)
    expect(sized.length).toBeGreaterThanOrEqual(organizations * between)
    expect(sized.filter(({ partition, sequence }) => sequence <= ends[partition]!)).toEqual([])
    // What was accepted after the level had risen has its size, without exception.
    for (const { partition, sequence } of sized)
      expect(accepted.filter((one) => one.partition === partition && one.sequence > sequence && !one.bytes)).toEqual([])
  })

  it("loses no email, takes none twice, and fails no request that a repeat does not answer", async () => {
    const ids = senders.flatMap(({ answered }) => [...answered.values()])
    expect(accepted.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
    for (const sender of senders) {
      const [first] = sender.answered
      expect(await sender.send(first![0])).toBe(first![1])
    }
  })

  it("has no way back: an older version is refused, and says why and what to do", async () => {
    const started = start(
      ["serve"],
      { ...environment("three"), SLUICE_PORT: "0", SLUICE_DATA_DIR: await folder() },
      {
        program: build.path
      }
    )
    const sentence = refusal(await started.finished)
    expect(sentence).toContain(
      `sluice: Newer versions run on this database: formats of level ${newest} are in force, and this version (0.0.9) knows level 1.`
    )
    expect(sentence).toContain("start the newer version")
    expect((await status("one")).nodes.map(({ name }) => name)).toEqual(["one", "two"])
  })
})
