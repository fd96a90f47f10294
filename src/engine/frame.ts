/**
 * Encodes and decodes frames: the decisions of one drain, as one message of the log (docs/architecture.md, rule 8).
 * JSON, readable with the `nats` tool:
 *
 *     {"v":1,"e":epoch,"n":number,"t":now,"p":"sha256 of the previous frame's bytes","s":highest signal sequence,
 *      "k":[["kind",version],…],"a":[[kind index,"organization","key"],…],"r":[[actor index,fact] or [actor index,null,event],…]}
 *
 * A claim has `"c":"owner"` and no records, an accepted clock `"b":1`. Version 2 adds two things: an actor that is
 * fresh in this frame is `[kind index,"organization","key",1]`, a message to another organization the record `[actor
 * index,null,null,message]`. Only frames with such parts have version 2. Version 3 adds the places of ingests behind
 * the signal, `"i":{"name":sequence,…}`, all of them in every frame; only frames with such places have it. Every
 * version ever written has a decoder. Pure.
 */
import { hash } from "node:crypto"
import { Data } from "effect"
import type { PublicEvent } from "./Actor.ts"
import { emptyLogHash } from "./ports/Checkpoints.ts"

/** The version of frames whose content version 1 can express. */
export const frameVersion = 1

/** The version of frames with fresh actors or messages. */
export const extendedFrameVersion = 2

/** The version of frames with the places of ingests; they may have all that version 2 has. */
export const ingestFrameVersion = 3

/**
 * The highest processed sequence of each ingest, by its name (docs/streams.md). Names begin with a letter, so that their
 * order stays. Never changed once it is made. See {@link Engine.Operator.inspectFrame}.
 */
export type IngestPlaces = Readonly<Record<string, number>>

/** The predecessor of a frame in its chain: the head of the log. See {@link Engine.Operator.inspectFrame}. */
export interface Head {
  readonly sequence: number
  readonly hash: string
  readonly epoch: number
  readonly number: number
  /** Milliseconds since the Unix epoch. */
  readonly now: number
  /** Highest signal sequence processed. */
  readonly signalSequence: number
  /** Left out where no ingest has a place. */
  readonly ingests?: IngestPlaces | undefined
}

/** The head of a log without frames. */
export const emptyHead: Head = { sequence: 0, hash: emptyLogHash, epoch: 0, number: 0, now: 0, signalSequence: 0 }

/** The actor that a record belongs to, as the frame names it. See {@link Engine.Operator.inspectFrame}. */
export interface FrameActor {
  readonly kind: string
  /** The version of the definition that wrote the record. */
  readonly version: number
  readonly organization: string
  readonly key: string
  /** Whether the actor has its initial state here, whatever was stored before. */
  readonly isFresh: boolean
}

/** A command for an actor of another organization, as a frame holds it. See {@link Engine.Operator.inspectFrame}. */
export interface FrameMessage {
  readonly organization: string
  readonly kind: string
  readonly key: string
  /** The version of the receiving actor's definition that wrote the command. */
  readonly version: number
  /** The command as JSON, not yet decoded by the receiver's schema. */
  readonly command: unknown
}

/**
 * A record of a frame: a fact (JSON, not yet decoded by the actor's schema), a public event, or a message. See
 * {@link Engine.Operator.inspectFrame}.
 */
export interface FrameRecord {
  readonly actor: FrameActor
  readonly fact: unknown
  readonly event: PublicEvent | undefined
  readonly message: FrameMessage | undefined
}

/** A decoded frame. See {@link Engine.Operator.inspectFrame}. */
export interface Frame {
  readonly epoch: number
  readonly number: number
  readonly now: number
  readonly previousHash: string
  readonly signalSequence: number
  /** Left out where no ingest has a place. */
  readonly ingests?: IngestPlaces | undefined
  /** For a claim, its owner: a text different from that of every other claim. Undefined for other frames. */
  readonly claim: string | undefined
  /** Whether an operator accepted the clock as it is, so that `now` may be below the previous frame's. */
  readonly acceptsClock: boolean
  readonly records: ReadonlyArray<FrameRecord>
}

/** A stored message is not a frame that this program can read. */
export class FrameInvalid extends Data.TaggedError("FrameInvalid")<{ readonly message: string }> {}

/** sha256 of a frame's stored bytes, 64 hexadecimal digits. */
export const hashOf = (bytes: Uint8Array): string => hash("sha256", bytes, "hex")

/** The header `Sluice-Frame`: `<partition>/<epoch>/<number>`. */
export const identityOf = (partition: number, epoch: number, number: number): string =>
  `${partition}/${epoch}/${number}`

/** Whether two frames are the same, byte for byte. */
export const sameBytes = (left: Uint8Array, right: Uint8Array): boolean =>
  left.length === right.length && Buffer.compare(left, right) === 0

/** The head after a frame. */
export const headAfter = (sequence: number, bytes: Uint8Array, frame: Omit<FrameHeader, "previousHash">): Head => ({
  sequence,
  hash: hashOf(bytes),
  epoch: frame.epoch,
  number: frame.number,
  now: frame.now,
  ...placesOf(frame)
})

/** The places of signals and ingests in a head, a frame or a checkpoint. */
export const placesOf = ({
  ingests,
  signalSequence
}: Pick<Head, "signalSequence" | "ingests">): Pick<Head, "signalSequence" | "ingests"> =>
  ingests === undefined ? { signalSequence } : { signalSequence, ingests }

/** The fields at the beginning of every frame. */
export interface FrameHeader {
  readonly epoch: number
  readonly number: number
  readonly now: number
  readonly previousHash: string
  readonly signalSequence: number
  readonly ingests?: IngestPlaces | undefined
}

const encodeHeader = ({ ingests, ...header }: FrameHeader, version = frameVersion): string => {
  const written = ingests === undefined ? version : ingestFrameVersion
  const places = ingests === undefined ? "" : `,"i":${JSON.stringify(ingests)}`
  return `{"v":${written},"e":${header.epoch},"n":${header.number},"t":${header.now},"p":"${header.previousHash}","s":${header.signalSequence}${places}`
}

/** A claim frame (docs/architecture.md, rule 4). `owner` makes its bytes different from every other claim's. */
export const encodeClaim = (header: FrameHeader, owner: string, acceptsClock = false): Uint8Array =>
  Buffer.from(`${encodeHeader(header)},"c":${JSON.stringify(owner)}${acceptsClock ? ',"b":1' : ""}}`)

/**
 * Collects the records of a drain. Facts come in as JSON text, stringified once; the tables of kinds and actors are
 * built as they are named.
 */
export class FrameBuilder {
  /** UTF-8 bytes of all additions. */
  bytes = 0
  /** Records so far, which is the next record's index. */
  count = 0
  private kinds: Array<string> = []
  private kindIndexes = new Map<string, number>()
  private actors: Array<string> = []
  private records: Array<string> = []
  private version = frameVersion

  /** Names an actor; returns its index in this frame. Each actor once. `isFresh`: it has its initial state here. */
  addActor(kind: string, version: number, organization: string, key: string, isFresh = false): number {
    return this.addActorTexts(kind, version, JSON.stringify(organization), JSON.stringify(key), isFresh)
  }

  /** The same with the JSON of organization and key. */
  addActorTexts(kind: string, version: number, organization: string, key: string, isFresh = false): number {
    let kindIndex = this.kindIndexes.get(kind)
    if (kindIndex === undefined) {
      kindIndex = this.kinds.length
      this.kindIndexes.set(kind, kindIndex)
      this.kinds.push(`["${kind}",${version}]`)
    }
    const text = `[${kindIndex},${organization},${key}${isFresh ? ",1" : ""}]`
    if (isFresh) this.version = extendedFrameVersion
    // An organization's name is ASCII.
    this.bytes += text.length - key.length + Buffer.byteLength(key) + 1
    return this.actors.push(text) - 1
  }

  /** Adds a fact. `bytes` is the text's length in UTF-8. */
  addFact(actor: number, text: string, bytes: number): void {
    this.records.push(`[${actor},${text}]`)
    this.bytes += bytes + 8
    this.count++
  }

  addEvent(actor: number, text: string, bytes: number): void {
    this.records.push(`[${actor},null,${text}]`)
    this.bytes += bytes + 13
    this.count++
  }

  /** Adds a message, encoded by `encodeMessage`. */
  addMessage(actor: number, text: string, bytes: number): void {
    this.records.push(`[${actor},null,null,${text}]`)
    this.bytes += bytes + 18
    this.count++
    this.version = extendedFrameVersion
  }

  encode(header: FrameHeader): Uint8Array {
    return Buffer.from(
      `${encodeHeader(header, this.version)},"k":[${this.kinds.join(",")}],"a":[${this.actors.join(",")}],"r":[${this.records.join(",")}]}`
    )
  }
}

/** Encodes an event; its shape is checked here because rules are users' code. Throws if it is not an event. */
export const encodeEvent = (event: PublicEvent): string => {
  if (typeof event.type !== "string" || typeof event.service !== "string" || typeof event.livemode !== "boolean")
    throw new TypeError("an event needs type, service and livemode")
  return JSON.stringify({
    type: event.type,
    service: event.service,
    livemode: event.livemode,
    data: event.data ?? null
  })
}

/** Encodes a message. The command is JSON already. */
export const encodeMessage = ({ command, key, kind, organization, version }: FrameMessage): string =>
  JSON.stringify([organization, kind, key, version, command])

/** Decodes stored bytes. Throws `FrameInvalid` if they are not a whole frame of a known version. */
export const decodeFrame = (bytes: Uint8Array): Frame => {
  let parsed: unknown
  try {
    parsed = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"))
  } catch {
    throw new FrameInvalid({ message: "the bytes are not JSON" })
  }
  const version = (parsed as { v?: unknown } | null)?.v
  const decoder = typeof version === "number" ? decoders[version] : undefined
  if (decoder === undefined) throw new FrameInvalid({ message: `no decoder for frame version ${String(version)}` })
  return decoder(parsed as Record<string, unknown>)
}

const plainBeginning = Buffer.from(`{"v":${frameVersion},`)

/** Whether stored bytes may be a frame with messages, judged without parsing. */
export const mayHoldMessages = (bytes: Uint8Array): boolean =>
  Buffer.compare(bytes.subarray(0, plainBeginning.length), plainBeginning) !== 0

const invalid = (what: string): never => {
  throw new FrameInvalid({ message: `${what} is missing or not what it should be` })
}

const integer = (value: unknown, what: string): number =>
  Number.isSafeInteger(value) ? (value as number) : invalid(what)

const decodeIngests = (places: unknown): IngestPlaces => {
  if (typeof places !== "object" || places === null || Array.isArray(places)) return invalid("the places of ingests")
  for (const sequence of Object.values(places)) integer(sequence, "the place of an ingest")
  // Each value is an integer, as checked above.
  return places as IngestPlaces
}

/** Decodes every version; a frame of version 1 has neither fresh actors nor messages, one before 3 no ingests. */
const decodeFields = (frame: Record<string, unknown>): Frame => {
  if (typeof frame.p !== "string" || frame.p.length !== emptyLogHash.length) return invalid("the previous hash")
  if (frame.c !== undefined && typeof frame.c !== "string") return invalid("the owner of a claim")
  return {
    epoch: integer(frame.e, "the epoch"),
    number: integer(frame.n, "the number"),
    now: integer(frame.t, "the time"),
    previousHash: frame.p,
    signalSequence: integer(frame.s, "the signal sequence"),
    ...(frame.i === undefined ? {} : { ingests: decodeIngests(frame.i) }),
    claim: frame.c,
    acceptsClock: frame.b === 1,
    records: decodeRecords(frame)
  }
}

const decodeRecords = (frame: Record<string, unknown>): ReadonlyArray<FrameRecord> => {
  const list = (frame.r ?? []) as ReadonlyArray<readonly [number, unknown, PublicEvent?, unknown?]>
  if (!Array.isArray(list)) return invalid("a table")
  const actors = decodeActors(frame)
  const records: Array<FrameRecord> = new Array(list.length)
  for (let index = 0; index < list.length; index++) {
    const entry = list[index]!
    const actor = actors[entry[0]]
    if (actor === undefined) return invalid(`the actor of record ${index}`)
    const message = entry[3] === undefined ? undefined : decodeMessage(entry[3])
    records[index] = { actor, fact: entry[1], event: entry[2] ?? undefined, message }
  }
  return records
}

const decodeActors = (frame: Record<string, unknown>): ReadonlyArray<FrameActor> => {
  const kinds = (frame.k ?? []) as ReadonlyArray<readonly [string, number]>
  const table = (frame.a ?? []) as ReadonlyArray<readonly [number, string, string, 1?]>
  if (!Array.isArray(kinds) || !Array.isArray(table)) return invalid("a table")
  return table.map((entry): FrameActor => {
    const kind = kinds[entry[0]]
    if (kind === undefined || typeof kind[0] !== "string" || typeof kind[1] !== "number") return invalid("a kind")
    if (typeof entry[1] !== "string" || typeof entry[2] !== "string") return invalid("an actor")
    return { kind: kind[0], version: kind[1], organization: entry[1], key: entry[2], isFresh: entry[3] === 1 }
  })
}

const decodeMessage = (entry: unknown): FrameMessage => {
  if (!Array.isArray(entry)) return invalid("a message")
  const [organization, kind, key, version, command] = entry as ReadonlyArray<unknown>
  if (typeof organization !== "string" || typeof kind !== "string" || typeof key !== "string")
    return invalid("the receiver of a message")
  return { organization, kind, key, version: integer(version, "the version of a message"), command }
}

const decoders: Readonly<Record<number, (frame: Record<string, unknown>) => Frame>> = {
  [frameVersion]: decodeFields,
  [extendedFrameVersion]: decodeFields,
  [ingestFrameVersion]: decodeFields
}
