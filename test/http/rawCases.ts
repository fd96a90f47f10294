/**
 * Raw HTTP as bytes, drawn from a seed: what the fast lane takes, what it must not, and what only looks like it. `{name}` stands for a
 * value of the way that is asked. Each case is one connection, which the server ends: its last request asks for that, or is one
 * after which the server hangs up.
 */
import { connect } from "node:net"
import { Prng } from "../../src/simulation/kernel/Prng.ts"
import { coldKeys, maxBodyBytes, type Way } from "./bothWays.ts"
import { hangMillis } from "./exchange.ts"

export interface RawCase {
  /** Written one after the other, each when the one before is on its way. */
  readonly parts: ReadonlyArray<string | Buffer>
  /** Whether the client hangs up half-way, since the server waits for more. */
  readonly incomplete: boolean
}

/** Reads that the fast lane is for. */
export const plainReads = [
  "/v1/npa/212?limit=1&include=details",
  "/v1/npa/212",
  "/v1/npa/212?limit=3",
  "/v1/npa/212?limit=100&offset=20",
  "/v1/npa/212?nxx=201",
  "/v1/npa?npa=416",
  "/v1/npa/212/nxx/205",
  "/v1/carrier/9104",
  "/v1/carrier/8051",
  "/v1/carrier?ocn=0007",
  "/v1/carriers",
  "/v1/carriers?state=ny&limit=2",
  "/v1/carriers?country=ca&type=ILEC",
  "/v1/carriers?offset=1"
]

const oddReads = [
  "/v1/npa/21",
  "/v1/npa/999",
  "/v1/npa/212/nxx/999",
  "/v1/npa/212?limit=0",
  "/v1/npa/212?limit=101",
  "/v1/npa/212?limit=abc",
  "/v1/npa/212?limit=",
  "/v1/npa/212?limit",
  "/v1/npa/212?limit=+5",
  "/v1/npa/212?limit=5&limit=6",
  "/v1/npa/212?limit=%35",
  "/v1/npa/%32%31%32",
  "/v1/npa/2%zz2",
  "/v1/npa/212;limit=1",
  "/v1/npa/212#x",
  "/v1/npa/212?limit=1#x",
  "/v1/npa/212?limit=1;offset=2",
  "/v1/npa/212/",
  "//v1/npa/212",
  "/v1//npa/212",
  "/V1/npa/212",
  "/v1/npa/212?",
  "/v1/npa/212?&&",
  "/v1/npa/212?=",
  "/v1/npa/212?x=1",
  "/v1/npa/212?npa=213",
  "/v1/npa/212?include=all",
  "/v1/carriers?limits=3",
  "/v1/npa/212?__proto__=1",
  "/v1/npa/212?constructor=1&limit=1",
  "/v1/npa/212?apiKey={key}",
  "/v1/npa/212?apikey={key}",
  "/v1/npa/212?apiKey={key}&apiKey={key}",
  "/v1/npa/212?api%4bey={key}",
  `/v1/npa/212?limit=1&x=${"a".repeat(300)}`,
  `/v1/npa/${"2".repeat(500)}`,
  "http://{host}/v1/npa/212?limit=1",
  "*",
  "/v1/npa?nxx=200",
  "/v1/carrier",
  "/v1/carrier/0000",
  "/v1/carrier/91 04",
  "/v1/carriers?country=MX",
  "/v1/carriers?state=NEW",
  "/v1/npa/\u00e9",
  "/livez",
  "/v1/unknown",
  "/v1/webhooks/we_none",
  "/v1/events?cursor=x",
  "/v1/telco/lookup/1"
]

const posts = [
  "/v1/webhooks",
  "/v1/webhooks",
  "/v1/webhooks/we_none/test",
  "/v1/webhooks/we_none/unpause",
  "/v1/webhooks/we_none/rotate-secret",
  "/v1/webhooks/we_none/replay",
  "/v1/webhooks/we_none/deliveries/dlv_none/retry",
  "/v1/send/emails",
  "/v1/send/emails/send",
  "/v1/send/emails/batch",
  "/v1/send/emails/em_none/cancel",
  "/v1/webhooks/we-none/test",
  "/v1/webhooks?x=1",
  "/v1/npa/212"
]

const bodies: ReadonlyArray<string | Buffer> = [
  '{"url":"https://hooks.example.com/in","enabled_events":["telco.*"]}',
  '{"url":"https://hooks.example.com/in","enabled_events":["*"],"description":"caf\u00e9 \u{1f600}"}',
  '{"url":"https://hooks.example.com/in","enabled_events":["*"],"extra":1}',
  '{"enabled_events":["*"]}',
  '{"url":"http://hooks.example.com/in","enabled_events":["*"]}',
  '{"url":"https://hooks.example.com/in","enabled_events":["nothing.*"]}',
  '{"url":"https://hooks.example.com/in","enabled_events":"*"}',
  '{"url":5,"enabled_events":["*"]}',
  '{"from":"Ann <ann@one.test>","to":"bob@two.test","subject":"caf\u00e9","text":"Hi"}',
  '{"from":"ann@one.test","to":["bob@two.test"],"subject":"Hi","html":"<p>","scheduled_at":"2000-01-01T00:00:00Z"}',
  '[{"from":"ann@one.test","to":"bob@two.test","subject":"Hi","text":"Hi"}]',
  '{"from":"ann@three.test","to":"bob@two.test","subject":"Hi","text":"Hi"}',
  '{"from":"ann","to":"bob@two.test","subject":"Hi","text":"Hi"}',
  '{"form":"ann@one.test","to":"bob@two.test","subject":"Hi","text":"Hi"}',
  '{"replay":true}',
  '{"overlapSeconds":60}',
  '{"overlapSeconds":-1}',
  '{"since":1}',
  '{"since":"x"}',
  '{"__proto__":{"url":"https://hooks.example.com/in"},"enabled_events":["*"]}',
  "null",
  "[]",
  '""',
  "{",
  " ",
  '\ufeff{"overlapSeconds":60}',
  Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
  `{"overlapSeconds":60,"x":"${"a".repeat(9_000)}"}`
]

const largeBodies = [`{"x":"${"a".repeat(maxBodyBytes)}"}`, `{"x":"${"a".repeat(maxBodyBytes - 9)}"}`]

const keyHeaders = [
  ...Array.from({ length: 16 }, () => "Authorization: Bearer {key}"),
  "Authorization: Bearer {narrow}",
  "authorization: bearer   {key}",
  "X-API-Key: {key}",
  "Authorization: Basic eDp5\r\nX-API-Key: {key}",
  "Authorization: Bearer {key}\r\nX-API-Key: {weak}",
  "Authorization: Bearer {weak}\r\nAuthorization: Bearer {key}",
  "X-API-Key: {key}\r\nX-API-Key: {key}",
  "Authorization: Bearer {weak}",
  "Authorization: Bearer",
  "Authorization: Bearer sk_live_0000000000000000000000",
  "Authorization: Bearer x",
  "X-Nothing: 1"
]

/** After these the server hangs up, or says something before its answer. */
const lastHeaders = [
  "Expect: 100-continue",
  "Expect: something",
  "Upgrade: websocket",
  `X-Long: ${"a".repeat(20_000)}`,
  "X-Bad : 1"
]

/** What would keep a connection of HTTP/1.0 open in spite of its `close`. */
const keptAlive = "Connection: keep-alive"

const furtherHeaders = [
  "X-Request-Id: abc.DEF_1:2-3",
  "X-Request-Id: not good",
  "X-Request-Id: one\r\nX-Request-Id: two",
  `X-Request-Id: ${"a".repeat(129)}`,
  "Accept-Encoding: gzip",
  "If-None-Match: *",
  "If-None-Match: {tag}",
  "If-None-Match: W/{tag}",
  'If-None-Match: "another"\r\nIf-None-Match: "one", {tag}',
  'If-None-Match: "another"',
  "Cookie: a=b",
  "Range: bytes=0-1",
  keptAlive,
  "Idempotency-Key: k1",
  "Idempotency-Key: k2",
  "Idempotency-Key: \u00e9",
  "X-Batch-Validation: permissive",
  "User-Agent: resend-node:6.38.0",
  "Content-Encoding: gzip"
]

const contentTypes = [
  "application/json",
  "application/json",
  "application/json; charset=utf-8",
  "APPLICATION/JSON;charset=UTF-8",
  "application/json; charset=latin1",
  "text/plain",
  "application/x-www-form-urlencoded",
  ""
]

const methods = ["GET", "GET", "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"]
const noMethods = ["BREW", "get", ""]
const versions = ["1.1", "1.0"]
const noVersions = ["1.2", "2.0", "x"]

const readBodies: ReadonlyArray<readonly [header: string, body: string]> = [
  ["Content-Length: 0", ""],
  ["Content-Length: 3", "abc"],
  ["Transfer-Encoding: chunked", "3\r\nabc\r\n0\r\n\r\n"]
]

const noLengths = ["x", "-1", "1 2", "99999999999999999999"]

/** Where in its case a request is: what ends a connection must be last, since bytes after it may cost the answer. */
interface Place {
  readonly last: boolean
  readonly alone: boolean
}

/** Draws cases: `next` gives one after the other. */
export const makeCases = (seed: number) => {
  const random = new Prng(seed, "raw")
  const { chance, pick } = {
    chance: (share: number) => random.chance(share),
    pick: <A>(of: ReadonlyArray<A>) => random.pick(of)
  }
  let cold = 0

  /** A key that has to be looked up is counted when that is done, which of several requests at once may be any time. */
  const key = ({ alone }: Place) =>
    alone && chance(0.03) && cold < coldKeys ? `Authorization: Bearer {cold${cold++}}` : pick(keyHeaders)
  const common = (place: Place) => [
    ...(chance(0.95) ? ["Host: {host}"] : []),
    key(place),
    ...(chance(0.25) ? [pick(place.last ? furtherHeaders.filter((one) => one !== keptAlive) : furtherHeaders)] : []),
    ...(place.alone && chance(0.06) ? [pick(lastHeaders)] : []),
    ...(place.last ? ["Connection: close"] : [])
  ]
  const read = (place: Place): ReadonlyArray<string> => {
    const plain = chance(0.6)
    const method = plain && chance(0.8) ? "GET" : pick(place.alone && chance(0.1) ? noMethods : methods)
    const version = !place.last || chance(0.95) ? "1.1" : pick(place.alone && chance(0.5) ? noVersions : versions)
    const [bodyHeader, body = ""] = chance(0.05) ? pick(readBodies) : []
    const lines = [
      `${method} ${plain ? pick(plainReads) : pick(oddReads)} HTTP/${version}`,
      ...common(place),
      ...(bodyHeader === undefined ? [] : [bodyHeader])
    ]
    return [`${lines.join("\r\n")}\r\n\r\n${body}`]
  }
  const post = (place: Place): ReadonlyArray<string | Buffer> => {
    const body = chance(0.15) ? Buffer.alloc(0) : Buffer.from(pick(place.alone ? [...bodies, ...largeBodies] : bodies))
    const contentType = pick(contentTypes)
    const chunked = body.length > 0 && chance(0.1)
    const length = place.alone && chance(0.05) ? pick(noLengths) : String(body.length)
    const lines = [
      `POST ${pick(posts)} HTTP/1.1`,
      ...common(place),
      ...(contentType === "" ? [] : [`Content-Type: ${contentType}`]),
      ...(chunked
        ? ["Transfer-Encoding: chunked"]
        : body.length === 0 && chance(0.5)
          ? []
          : [`Content-Length: ${length}`])
    ]
    const head = `${lines.join("\r\n")}\r\n\r\n`
    if (body.length === 0) return [head]
    if (chunked) return [head, `${body.length.toString(16)}\r\n`, body, "\r\n0\r\n\r\n"]
    const cut = chance(0.5) ? random.int(0, body.length - 1) : 0
    return cut === 0 ? [Buffer.concat([Buffer.from(head), body])] : [head, body.subarray(0, cut), body.subarray(cut)]
  }
  /** A body that is shorter than it was to be, of an endpoint that takes one. */
  const torn = (): RawCase => ({
    parts: [`POST /v1/webhooks HTTP/1.1\r\nAuthorization: Bearer {key}\r\nContent-Length: 80\r\n\r\n`, '{"url":'],
    incomplete: true
  })
  return {
    next: (): RawCase => {
      if (chance(0.01)) return torn()
      const requests = chance(0.7) ? 1 : random.int(2, 5)
      const parts = Array.from({ length: requests }, (_, at) => {
        const place = { last: at === requests - 1, alone: requests === 1 }
        return chance(0.3) ? post(place) : read(place)
      }).flat()
      const joined = [Buffer.concat(parts.map((part) => Buffer.from(part)))]
      return { parts: chance(0.5) ? parts : joined, incomplete: false }
    }
  }
}

/** Puts a way's values in; texts and bytes alike, since a value is plain ASCII. */
const filled = (part: string | Buffer, values: Way["values"]): Buffer =>
  Buffer.from(
    Buffer.from(part)
      .toString("latin1")
      .replace(/\{(\w+)\}/g, (text, name: string) => values[name] ?? text),
    "latin1"
  )

/** Sends a case and reads until the server hangs up. */
export const exchangeRaw = (way: Way, { incomplete, parts }: RawCase): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(way.url)
    const received: Array<Buffer> = []
    const socket = connect({ host: hostname, port: Number(port) })
    const settle = () => {
      clearTimeout(timer)
      socket.destroy()
      resolve(Buffer.concat(received).toString("latin1"))
    }
    const timer = setTimeout(() => {
      socket.destroy()
      reject(new Error(`no end within ${hangMillis} ms of ${JSON.stringify(String(parts))}`))
    }, hangMillis)
    socket.on("data", (chunk) => received.push(chunk))
    socket.once("end", settle)
    socket.once("error", settle)
    const write = (at: number): void => {
      if (at === parts.length) {
        if (incomplete) socket.end()
        return
      }
      socket.write(filled(parts[at]!, way.values), () => setImmediate(write, at + 1))
    }
    write(0)
  })

/** An answer without what is of one way or one moment alone: made ids, instants, the values of the way. */
export const withoutMoment = (text: string, values: Way["values"]): string => {
  let plain = text
    .replace(/req_[0-9a-f-]{36}/g, "req_*")
    .replace(/^Date: .*$/gm, "Date: *")
    .replace(/\bwhsec_[A-Za-z0-9+/=]{20,}/g, "whsec_*")
    .replace(/\b(we|wsk|rpl|tst|evt|dlv|em)_[A-Za-z0-9_-]{20,}/g, "$1_*")
    .replace(/\b\d{13}\b/g, "*")
  for (const [name, value] of Object.entries(values)) plain = plain.replaceAll(value, `{${name}}`)
  return plain
}
