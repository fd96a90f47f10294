/** The bare loop: signs and posts with undici, one request on each connection. Nothing is kept. */
import { Effect } from "effect"
import { Pool } from "undici"
import { deliveryHeaders } from "../../../../src/webhooks/secret/signature.ts"
import { serveWorkload } from "../workload.ts"
import { type DeliveryLoad, failLoudly, sampleDeliveries } from "./deliveries.ts"
import { connections, hookPath, numberedEvent, secret } from "./events.ts"

/** Events made beforehand, which are posted again and again. */
const events = 10_000

serveWorkload(({ seconds, url, warmUpSeconds }: DeliveryLoad) =>
  Effect.gen(function* () {
    const pool = new Pool(url, { connections, pipelining: 1 })
    const bodies = Array.from({ length: events }, (_, number) => numberedEvent(number))
    let posted = 0
    let stopped = false
    const loop = async () => {
      while (!stopped) {
        const { body, eventId } = bodies[posted % events]!
        const headers = deliveryHeaders({ eventId, nowMillis: Date.now(), rawBody: body, secrets: [secret] })
        const response = await pool.request({ method: "POST", path: hookPath, headers, body })
        await response.body.dump()
        if (response.statusCode !== 200) throw new Error(`answered ${response.statusCode}`)
        posted++
      }
    }
    const loops = Promise.all(Array.from({ length: connections }, loop))
    loops.catch(failLoudly)
    yield* Effect.addFinalizer(() => {
      stopped = true
      return Effect.promise(() => loops.then(() => pool.destroy()))
    })
    yield* Effect.sleep(warmUpSeconds * 1000)
    return { measure: () => sampleDeliveries(() => posted, seconds) }
  })
)
