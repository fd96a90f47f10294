/**
 * Measures the cost of an event, a delivery and a send on the platform as it is run: CPU of each program and bytes of log and database for a number of them, one
 * kind after the other.
 */
import { once } from "node:events"
import { readdir, stat } from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { Worker } from "node:worker_threads"
import pg from "pg"
import { makeRunTenant } from "../deliveries/tenants.ts"
import { makeAccount } from "../sending/accounts.ts"
import { KilledPlatform } from "../support/killed.ts"
import { type AtEnd, inRunFolder } from "../support/runFolder.ts"
import { cpuBelow } from "./cpuBelow.ts"

/** What one of a kind costs; microseconds and bytes. */
export interface Cost {
  readonly nodeMicros: number
  readonly natsMicros: number
  readonly postgresMicros: number
  readonly logBytes: number
  readonly databaseBytes: number
}

export interface PlatformCosts {
  /** A look-up over HTTP and its event. */
  readonly event: Cost
  /** The same with an endpoint that gets the event. */
  readonly delivered: Cost
  readonly send: Cost
}

const adminKey = `adm_${"Cp5".repeat(10)}`

/** Bytes of the files in a folder. */
const bytesOf = async (folder: string): Promise<number> => {
  const names = await readdir(folder, { recursive: true }).catch(() => [] as Array<string>)
  const sizes = await Promise.all(names.map((name) => stat(join(folder, name)).catch(() => undefined)))
  return sizes.reduce((sum, found) => sum + (found?.isFile() === true ? found.size : 0), 0)
}

/** So many at a time, until all are done. */
const inParallel = async (count: number, callers: number, one: (number: number) => Promise<void>): Promise<void> => {
  let next = 0
  const work = async () => {
    while (next < count) await one(next++)
  }
  await Promise.all(Array.from({ length: callers }, work))
}

export interface PlatformOptions {
  readonly events: number
  readonly sends: number
  readonly signal: AbortSignal | undefined
}

/** Measures them on a platform with servers of its own. */
export const runPlatform = (options: PlatformOptions): Promise<PlatformCosts> =>
  inRunFolder("capacity", options.signal, (folder, atEnd) => measure(options, folder, atEnd))

const measure = async (options: PlatformOptions, dataFolder: string, atEnd: AtEnd): Promise<PlatformCosts> => {
  const sink = new Worker(new URL("../bench/workloads/smtpSink.ts", import.meta.url))
  const [relayPort] = (await once(sink, "message")) as [number]
  let arrived = 0
  const receiver = createServer((request, response) => {
    request.resume().once("end", () => {
      arrived++
      response.end()
    })
  })
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve))
  const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
  try {
    const platform = new KilledPlatform({
      folder: dataFolder,
      environment: {
        SLUICE_ADMIN_KEY: adminKey,
        SLUICE_LOG_LEVEL: "error",
        SLUICE_SMTP_URL: `smtp://127.0.0.1:${relayPort}`
      }
    })
    atEnd(() => platform.stop())
    await platform.start()
    const { pid } = platform
    const place = { url: platform.url, adminUrl: platform.adminUrl }
    const database = new pg.Client({ connectionString: platform.postgresUrl })
    await database.connect()
    atEnd(() => database.end())
    const look = async () => {
      const { rows } = await database.query<{ readonly bytes: string }>(
        "select pg_database_size(current_database()) as bytes"
      )
      return {
        cpu: cpuBelow(pid),
        log: await bytesOf(join(dataFolder, "nats")),
        database: Number(rows[0]!.bytes)
      }
    }
    const costOf = async (count: number, work: () => Promise<void>): Promise<Cost> => {
      const before = await look()
      await work()
      const after = await look()
      return {
        nodeMicros: (after.cpu.node - before.cpu.node) / count,
        natsMicros: (after.cpu.nats - before.cpu.nats) / count,
        postgresMicros: (after.cpu.postgres - before.cpu.postgres) / count,
        logBytes: (after.log - before.log) / count,
        databaseBytes: (after.database - before.database) / count
      }
    }
    const plain = await makeRunTenant(place, adminKey, hook, "plain")
    await fetch(`${place.url}/v1/webhooks/${plain.endpoint}`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${plain.key}` }
    })
    const hooked = await makeRunTenant(place, adminKey, hook, "hooked")
    const account = await makeAccount(place, adminKey, { name: "sender", emailsPerHour: 5_000, dailyCap: 50_000 })
    const lookUp = (key: string, number: number) =>
      fetch(`${place.url}/v1/telco/lookup/212555${String(number % 10_000).padStart(4, "0")}`, {
        headers: { authorization: `Bearer ${key}` }
      }).then(async (answer) => {
        const text = await answer.text()
        if (answer.status !== 200) throw new Error(`a look-up is answered ${answer.status} ${text}`)
      })
    const stored = async (organization: string, count: number) => {
      for (;;) {
        const { rows } = await database.query<{ readonly count: string }>(
          "select count(*) as count from events where organization_id = $1",
          [organization]
        )
        if (Number(rows[0]!.count) >= count) return
        await pause(50)
      }
    }
    const send = async (number: number) => {
      const answer = await fetch(`${place.url}/v1/send/emails`, {
        method: "POST",
        headers: { authorization: `Bearer ${account.key}`, "content-type": "application/json" },
        body: JSON.stringify({
          from: account.from,
          to: `someone-${number}@domain${number % 25}.example`,
          subject: `Email ${number}`,
          html: `<p>${"Thank you for your order. ".repeat(48)}</p>`
        })
      })
      const text = await answer.text()
      if (answer.status !== 202) throw new Error(`a send is answered ${answer.status} ${text}`)
    }
    const taken = async (): Promise<number> => {
      sink.postMessage("how many")
      return ((await once(sink, "message")) as [number])[0]
    }
    // The first ones compile the program.
    await inParallel(500, 16, (number) => lookUp(plain.key, number))
    await stored(plain.organization, 500)
    const event = await costOf(options.events, async () => {
      await inParallel(options.events, 32, (number) => lookUp(plain.key, number))
      await stored(plain.organization, 500 + options.events)
    })
    const delivered = await costOf(options.events, async () => {
      await inParallel(options.events, 32, (number) => lookUp(hooked.key, number))
      while (arrived < options.events) await pause(50)
      await pause(1_000)
    })
    await inParallel(50, 8, send)
    while ((await taken()) < 50) await pause(50)
    const sent = await costOf(options.sends, async () => {
      await inParallel(options.sends, 32, (number) => send(number + 50))
      while ((await taken()) < options.sends + 50) await pause(50)
      await pause(1_000)
    })
    return { event, delivered, send: sent }
  } finally {
    receiver.closeAllConnections()
    receiver.close()
    await sink.terminate()
  }
}
