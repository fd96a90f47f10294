/**
 * Sends many requests at the same moment from a process of its own, so that the test's process stays free for the proxies it
 * runs: `node burst.ts <url> <count> <key>…`. Prints one JSON line with status and limit headers of every answer.
 */
import { Agent, request } from "node:http"

const [url, count, ...keys] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true, maxSockets: Number(count) })

const ask = (key: string) =>
  new Promise((resolve, reject) => {
    const sent = request(url!, { agent, headers: { "x-api-key": key } }, (answer) => {
      answer.resume()
      answer.once("end", () => {
        const number = (name: string) => {
          const text = answer.headers[name]
          return typeof text === "string" ? Number(text) : undefined
        }
        resolve({
          status: answer.statusCode,
          limit: number("x-ratelimit-limit"),
          remaining: number("x-ratelimit-remaining"),
          reset: number("x-ratelimit-reset"),
          retryAfter: number("retry-after")
        })
      })
    })
    sent.once("error", reject)
    sent.end()
  })

const replies = await Promise.all(Array.from({ length: Number(count) }, (_, index) => ask(keys[index % keys.length]!)))
console.log(JSON.stringify(replies))
agent.destroy()
