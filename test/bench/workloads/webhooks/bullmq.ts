/**
 * The same deliveries as jobs of BullMQ on a Redis that syncs always: put in by `addBulk`, posted by one worker with as many jobs at a time as
 * there are connections. A job that is done is removed, which is the least it can cost.
 */
import { Queue, Worker } from "bullmq"
import { Effect } from "effect"
import { Pool } from "undici"
import { deliveryHeaders } from "../../../../src/webhooks/secret/signature.ts"
import { serveWorkload } from "../workload.ts"
import { type DeliveryLoad, failLoudly, sampleDeliveries } from "./deliveries.ts"
import { connections, hookPath, type NumberedEvent, numberedEvent, secret } from "./events.ts"
import { startRedis } from "./redis.ts"

const addedAtOnce = 512
const idleMillis = 1
const name = "deliveries"

serveWorkload(({ dataFolder, outstanding, seconds, url, warmUpSeconds }: DeliveryLoad) =>
  Effect.gen(function* () {
    const connection = yield* startRedis(dataFolder)
    const pool = new Pool(url, { connections, pipelining: 1 })
    const queue = new Queue<NumberedEvent>(name, { connection })
    let added = 0
    let recorded = 0
    let stopped = false
    const worker = new Worker<NumberedEvent>(
      name,
      async ({ data: { body, eventId } }) => {
        const headers = deliveryHeaders({ eventId, nowMillis: Date.now(), rawBody: body, secrets: [secret] })
        const response = await pool.request({ method: "POST", path: hookPath, headers, body })
        await response.body.dump()
        if (response.statusCode !== 200) throw new Error(`answered ${response.statusCode}`)
      },
      { connection, concurrency: connections, removeOnComplete: { count: 0 } }
    )
    worker.on("completed", () => recorded++)
    worker.on("failed", (_job, error) => failLoudly(error))
    // While the server starts.
    worker.on("error", () => {})
    queue.on("error", () => {})
    const adding = async () => {
      await queue.waitUntilReady()
      while (!stopped) {
        const room = Math.min(addedAtOnce, outstanding - (added - recorded))
        if (room < addedAtOnce / 4) {
          await new Promise((resolve) => setTimeout(resolve, idleMillis))
          continue
        }
        await queue.addBulk(Array.from({ length: room }, (_, index) => ({ name, data: numberedEvent(added + index) })))
        added += room
      }
    }
    const loop = adding()
    loop.catch(failLoudly)
    yield* Effect.addFinalizer(() => {
      stopped = true
      return Effect.promise(() =>
        loop.then(() => worker.close()).then(() => Promise.all([queue.close(), pool.destroy()]))
      )
    })
    yield* Effect.sleep(warmUpSeconds * 1000)
    return { measure: () => sampleDeliveries(() => recorded, seconds) }
  })
)
