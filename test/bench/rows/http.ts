/**
 * Reads of the number directory with a key, beside a Fastify server that does the same work (`peers/fastify.ts`) and
 * answers with the same bytes; and a POST of JSON beside one that checks the same body (`peers/fastifyPost.ts`).
 */

import type { PeerSettings, RecordedAnswer } from "../peers/fastify.ts"
import type { PostPeerSettings } from "../peers/fastifyPost.ts"
import { atLeast, atMost, type Benchmark, benchmarkInTurns, type Stand, type Standing } from "../runner/benchmark.ts"
import { type Child, ChildFailed, freePort } from "../runner/child.ts"
import { type HttpSample, loadNote, standUnderLoad, turns } from "../runner/load.ts"
import { demoKey, filledDataFolder, keyHeaders, requestsPerMinute, startPlatform } from "../runner/platform.ts"
import type { Workbench } from "../runner/workbench.ts"
import type { PostHttpLoad } from "../workloads/postHttp.ts"
import { startWorkload } from "../workloads/workload.ts"

/** What is asked for, and the key under which the peer finds its answer. */
interface Read {
  readonly name: string
  readonly path: string
  readonly key: string
}

const reads: ReadonlyArray<Read> = [
  { name: "npa", path: "/v1/npa/212", key: "npa 212 undefined undefined undefined" },
  { name: "carrier", path: "/v1/carrier/9104", key: "carrier 9104" },
  { name: "carriers", path: "/v1/carriers?state=NY", key: "carriers undefined NY undefined undefined undefined" }
]

/** Headers that belong to a connection or a moment; the peer makes its own. */
const ownHeaders = new Set(["connection", "keep-alive", "date", "x-request-id", "content-length", "transfer-encoding"])
const limitHeader = "x-ratelimit-limit"

const recordAnswer = async (url: string, { key, path }: Read): Promise<RecordedAnswer> => {
  const response = await fetch(url + path, { headers: keyHeaders })
  if (response.status !== 200) throw new ChildFailed(`${path} answered ${response.status}: ${await response.text()}`)
  const kept = [...response.headers].filter(([name]) => !ownHeaders.has(name) && !name.startsWith("x-ratelimit-"))
  return { key, headers: Object.fromEntries(kept), body: await response.text() }
}

/** What the platform answers to each read, asked once. */
const recordAnswers = (workbench: Workbench) =>
  workbench.once("answers", async () => {
    const platform = await startPlatform(workbench, { dataFolder: await filledDataFolder(workbench) })
    try {
      const answers = await Promise.all(reads.map((read) => recordAnswer(platform.url, read)))
      const probe = await fetch(platform.url + reads[0]!.path, { headers: keyHeaders })
      await probe.arrayBuffer()
      return { answers, showsLimit: probe.headers.has(limitHeader) }
    } finally {
      await platform.stop()
    }
  })

const sluice =
  (path: string): Stand<HttpSample> =>
  async (workbench) => {
    // Of the same folder, so before this one holds it.
    await recordAnswers(workbench)
    const dataFolder = await filledDataFolder(workbench)
    const { child, stop, url } = await startPlatform(workbench, { dataFolder })
    return standUnderLoad(workbench, child, { url: url + path, headers: keyHeaders }, stop)
  }

/** The peer must not be the faster one by answering something else. */
const requireSame = async (url: string, read: Read, recorded: RecordedAnswer): Promise<void> => {
  const answer = await recordAnswer(url, read)
  const differing = Object.entries(recorded.headers).filter(([name, value]) => answer.headers[name] !== value)
  if (answer.body !== recorded.body || differing.length > 0) {
    throw new ChildFailed(`the peer answers ${read.path} differently: ${JSON.stringify(differing)}`)
  }
}

const peerScript = new URL("../peers/fastify.ts", import.meta.url).pathname

/** Lets the peer that was loaded into a process serve there. */
const fastifyIn = async (workbench: Workbench, child: Child, read: Read): Promise<Standing<HttpSample>> => {
  const { answers, showsLimit } = await recordAnswers(workbench)
  const port = await freePort()
  await child.ask({ port, apiKey: demoKey, answers, requestsPerMinute, showsLimit } satisfies PeerSettings)
  const url = `http://127.0.0.1:${port}`
  await requireSame(url, read, answers.find(({ key }) => key === read.key)!)
  return standUnderLoad(workbench, child, { url: url + read.path, headers: keyHeaders }, () => child.stop())
}

const fastify =
  (read: Read): Stand<HttpSample> =>
  (workbench) =>
    fastifyIn(workbench, workbench.start(process.execPath, [peerScript], { channel: true }), read)

/** In the process of a platform, which is asked nothing: what a process that holds all of this costs any server of it. */
const fastifyInside =
  (read: Read): Stand<HttpSample> =>
  async (workbench) => {
    const dataFolder = await filledDataFolder(workbench, "beside")
    const nodeArguments = ["--import", peerScript]
    const { child } = await startPlatform(workbench, { dataFolder, nodeArguments, channel: true })
    return fastifyIn(workbench, child, read)
  }

const readBenchmarks: ReadonlyArray<Benchmark> = reads.map((read) =>
  benchmarkInTurns({
    name: `http/${read.name}`,
    turns,
    stands: { sluice: sluice(read.path), fastify: fastify(read), inside: fastifyInside(read) },
    rows: [
      {
        name: "throughput",
        unit: "requests/s",
        figure: ({ sluice }) => sluice.requestsPerSecond,
        peer: ({ fastify }) => fastify.requestsPerSecond,
        goal: atLeast(0.95),
        note: loadNote
      },
      {
        name: "p99",
        unit: "ms",
        figure: ({ sluice }) => sluice.p99Millis,
        peer: ({ fastify }) => fastify.p99Millis,
        goal: atMost(1.5)
      },
      {
        name: "cpu",
        unit: "us/request",
        figure: ({ sluice }) => sluice.serverCpuMicros,
        peer: ({ fastify }) => fastify.serverCpuMicros,
        note: "CPU of the server's process"
      },
      {
        name: "throughput-inside",
        unit: "requests/s",
        figure: ({ sluice }) => sluice.requestsPerSecond,
        peer: ({ inside }) => inside.requestsPerSecond,
        note: "the peer serves in a platform's process"
      },
      {
        name: "cpu-inside",
        unit: "us/request",
        figure: ({ sluice }) => sluice.serverCpuMicros,
        peer: ({ inside }) => inside.serverCpuMicros,
        note: "the peer serves in a platform's process"
      }
    ]
  })
)

/** A message as an application sends one, of about a kilobyte. */
const message = JSON.stringify({
  from: "Acme <billing@acme.example>",
  to: ["someone@example.com"],
  subject: "Your invoice of November",
  html: `<p>${"Thank you for your order. ".repeat(24)}</p>`,
  text: "Thank you for your order. ".repeat(8),
  headers: { "X-Entity-Ref-ID": "inv-2026-11-000123" },
  tags: [{ name: "kind", value: "invoice" }]
})
const messagesPath = "/v1/messages"
const postLoad = (url: string) => ({ url: url + messagesPath, headers: keyHeaders, body: message })

/** Neither side must be the faster one by refusing. */
const requireAccepted = async (url: string): Promise<void> => {
  const headers = { ...keyHeaders, "content-type": "application/json" }
  const response = await fetch(url + messagesPath, { method: "POST", headers, body: message })
  const body = await response.text()
  if (response.status !== 202 || !response.headers.has(limitHeader)) {
    throw new ChildFailed(`${messagesPath} answered ${response.status}: ${body}`)
  }
}

const postToSluice =
  (fastLane: boolean): Stand<HttpSample> =>
  async (workbench) => {
    const { child, told } = await startWorkload<string>(workbench, "postHttp", { fastLane } satisfies PostHttpLoad)
    await requireAccepted(told)
    return standUnderLoad(workbench, child, postLoad(told), () => child.stop())
  }

const postToFastify: Stand<HttpSample> = async (workbench) => {
  const script = new URL("../peers/fastifyPost.ts", import.meta.url).pathname
  const port = await freePort()
  const child = workbench.start(process.execPath, [script], { channel: true })
  await child.ask({ port, apiKey: demoKey, requestsPerMinute } satisfies PostPeerSettings)
  const url = `http://127.0.0.1:${port}`
  await requireAccepted(url)
  return standUnderLoad(workbench, child, postLoad(url), () => child.stop())
}

const postBenchmark: Benchmark = benchmarkInTurns({
  name: "http/post",
  turns,
  stands: { sluice: postToSluice(true), fastify: postToFastify, ordinary: postToSluice(false) },
  rows: [
    {
      name: "throughput",
      unit: "requests/s",
      figure: ({ sluice }) => sluice.requestsPerSecond,
      peer: ({ fastify }) => fastify.requestsPerSecond,
      goal: atLeast(0.9),
      note: loadNote
    },
    {
      name: "p99",
      unit: "ms",
      figure: ({ sluice }) => sluice.p99Millis,
      peer: ({ fastify }) => fastify.p99Millis
    },
    {
      name: "cpu",
      unit: "us/request",
      figure: ({ sluice }) => sluice.serverCpuMicros,
      peer: ({ fastify }) => fastify.serverCpuMicros,
      note: "CPU of the server's process"
    },
    {
      name: "cpu-without-fast-lane",
      unit: "us/request",
      figure: ({ ordinary }) => ordinary.serverCpuMicros,
      peer: ({ fastify }) => fastify.serverCpuMicros,
      note: "CPU of the server's process"
    }
  ]
})

export const httpBenchmarks: ReadonlyArray<Benchmark> = [...readBenchmarks, postBenchmark]
