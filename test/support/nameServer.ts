/** A name server on loopback, over UDP, that answers for some names as it is told and is silent for the others. */
import { createSocket } from "node:dgram"
import { isIP } from "node:net"
import { Effect, type Scope } from "effect"

/** What becomes of a question: addresses and for how many seconds they are good, no such name, or no answer at all. */
export type NameAnswer =
  | {
      readonly addresses: ReadonlyArray<string>
      /** Hosts that take mail; an empty one says that nobody does. */
      readonly mailHosts?: ReadonlyArray<string>
      /** TXT records, each of one string or more. */
      readonly texts?: ReadonlyArray<ReadonlyArray<string>>
      /** Name servers of a zone. */
      readonly nameServers?: ReadonlyArray<string>
      readonly ttl?: number
    }
  | "unknown"
  | "failing"
  | "refused"
  | "silent"

export interface NameServer {
  /** For `Resolver.setServers`. */
  readonly address: string
  /** How a name is answered for from now on. Where nothing was said, a name is unknown, and a top-level domain has a name server. */
  readonly answer: (name: string, answer: NameAnswer) => void
  /** How often addresses of a name were asked for, by questions for IPv4. */
  readonly asked: (name: string) => number
  /** How often a name was asked for, by questions of any kind. */
  readonly questions: (name: string) => number
}

const headBytes = 12
const typeA = 1
const typeNs = 2
const typeMx = 15
const typeTxt = 16
const typeAaaa = 28
const responseCodes = { unknown: 3, failing: 2, refused: 5 } as const

const topLevelDomain: NameAnswer = { addresses: [], nameServers: ["ns.example"] }

/** The name and the type of the question of a message, and where it ends. */
const readQuestion = (message: Buffer): { readonly name: string; readonly type: number; readonly end: number } => {
  const labels: Array<string> = []
  let at = headBytes
  for (let length = message[at]!; length > 0; length = message[at]!) {
    labels.push(message.toString("latin1", at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join(".").toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 }
}

const bytesOf = (address: string): Buffer => {
  if (isIP(address) === 4) return Buffer.from(address.split(".").map(Number))
  const [head = "", tail = ""] = address.split("::")
  const groups = (text: string) => (text === "" ? [] : text.split(":"))
  const missing = 8 - groups(head).length - groups(tail).length
  const all = address.includes("::")
    ? [...groups(head), ...Array.from({ length: missing }, () => "0"), ...groups(tail)]
    : groups(address)
  return Buffer.concat(
    all.map((group) => {
      const bytes = Buffer.alloc(2)
      bytes.writeUInt16BE(Number.parseInt(group, 16))
      return bytes
    })
  )
}

const record = (type: number, ttl: number, data: Buffer): Buffer => {
  const head = Buffer.alloc(headBytes)
  // The name is the question's.
  head.writeUInt16BE(0xc000 + headBytes, 0)
  head.writeUInt16BE(type, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt32BE(ttl, 6)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

const bytesOfName = (name: string): Buffer =>
  Buffer.concat([
    ...name
      .split(".")
      .filter((label) => label !== "")
      .map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label, "latin1")])),
    Buffer.alloc(1)
  ])

/** Priority 10. */
const bytesOfMailHost = (host: string): Buffer => Buffer.concat([Buffer.from([0, 10]), bytesOfName(host)])

const bytesOfText = (strings: ReadonlyArray<string>): Buffer =>
  Buffer.concat(strings.map((text) => Buffer.concat([Buffer.from([text.length]), Buffer.from(text, "latin1")])))

const reply = (message: Buffer, answer: Exclude<NameAnswer, "silent">): Buffer => {
  const { end, type } = readQuestion(message)
  const head = Buffer.from(message.subarray(0, headBytes))
  const code = typeof answer === "string" ? responseCodes[answer] : 0
  const family = type === typeA ? 4 : type === typeAaaa ? 6 : 0
  const records =
    typeof answer === "string"
      ? []
      : [
          ...answer.addresses.filter((address) => isIP(address) === family).map(bytesOf),
          ...(type === typeNs ? (answer.nameServers ?? []).map(bytesOfName) : []),
          ...(type === typeMx ? (answer.mailHosts ?? []).map(bytesOfMailHost) : []),
          ...(type === typeTxt ? (answer.texts ?? []).map(bytesOfText) : [])
        ].map((data) => record(type, answer.ttl ?? 60, data))
  // An answer, recursion available.
  head.writeUInt16BE(0x8180 + code, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(records.length, 6)
  head.writeUInt32BE(0, 8)
  return Buffer.concat([head, message.subarray(headBytes, end), ...records])
}

/** Starts a name server; it ends with the scope. */
export const startNameServer: Effect.Effect<NameServer, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.callback<NameServer & { readonly close: () => void }>((resume) => {
      const answers = new Map<string, NameAnswer>()
      const asked = new Map<string, number>()
      const questions = new Map<string, number>()
      const socket = createSocket("udp4")
      socket.on("message", (message, { address, port }) => {
        const { name, type } = readQuestion(message)
        questions.set(name, (questions.get(name) ?? 0) + 1)
        if (type === typeA) asked.set(name, (asked.get(name) ?? 0) + 1)
        const answer = answers.get(name) ?? (name.includes(".") ? "unknown" : topLevelDomain)
        if (answer !== "silent") socket.send(reply(message, answer), port, address)
      })
      socket.bind(0, "127.0.0.1", () =>
        resume(
          Effect.succeed({
            address: `127.0.0.1:${socket.address().port}`,
            answer: (name: string, answer: NameAnswer) => void answers.set(name, answer),
            asked: (name: string) => asked.get(name) ?? 0,
            questions: (name: string) => questions.get(name) ?? 0,
            close: () => socket.close()
          })
        )
      )
    }),
    ({ close }) => Effect.sync(close)
  ),
  ({ close: _, ...server }) => server
)
