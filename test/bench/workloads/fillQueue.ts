/** So many emails over HTTP in batches of a hundred, as fast as they are accepted: they are to wait, because the relay takes next to none. */
import { Effect } from "effect"
import { Pool } from "undici"
import type { SendsAccount } from "./sends.ts"
import { serveWorkload } from "./workload.ts"

export interface FillQueueLoad {
  readonly url: string
  readonly accounts: ReadonlyArray<SendsAccount>
  readonly emails: number
}

const batch = 100
const callers = 16

const prepare = ({ accounts, emails, url }: FillQueueLoad) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new Pool(url, { connections: callers, pipelining: 1 })),
      (made) => Effect.promise(() => made.destroy())
    ),
    (pool) => {
      let left = emails
      const caller = async (): Promise<void> => {
        while (left > 0) {
          left -= batch
          const { from, key } = accounts[(left / batch) % accounts.length]!
          const mails = Array.from({ length: batch }, (_, index) => ({
            from,
            to: `someone@domain${index % 25}.example`,
            subject: "Hello",
            text: "Thank you for your order."
          }))
          const answer = await pool.request({
            method: "POST",
            path: "/v1/send/emails/batch",
            headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
            body: JSON.stringify(mails)
          })
          const text = await answer.body.text()
          if (answer.statusCode === 503) left += batch
          else if (answer.statusCode !== 202) throw new Error(`${answer.statusCode} ${text}`)
        }
      }
      return {
        measure: async () => {
          const begun = performance.now()
          await Promise.all(Array.from({ length: callers }, caller))
          return { seconds: (performance.now() - begun) / 1_000 }
        }
      }
    }
  )

serveWorkload(prepare)
