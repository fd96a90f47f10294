/**
 * Packs contents into a shared message (docs/handoff.md, 1): each encrypted under the data key of its organization,
 * found by its place. A pointer also names the beginning of the content's nonce, so that a pointer into a lost and
 * recreated stream finds nothing. Pure but for the nonces.
 */
import { type CipherKey, createCipheriv, createDecipheriv } from "node:crypto"
import { Schema } from "effect"
import { drawBytes } from "../../../common/identifiers.ts"
import { Message } from "../../Message.ts"

/** AES-256-GCM. */
export const contentKeyBytes = 32
const nonceBytes = 12
const tagBytes = 16

/** The layout of a shared message: this byte, the number of contents, the length of each, the contents. */
const layout = 1
const headBytes = 5
const lengthBytes = 4

/** Bytes of the nonce that a pointer names. */
const checkBytes = 6

const Content = Schema.fromJsonString(Message)
/** The text of a content, before it is encrypted. */
export const encodeContent = Schema.encodeSync(Content)
const decodeContent = Schema.decodeOption(Content)

const about = (organization: string): Buffer => Buffer.from(`send content\n${organization}`)

/** A content as it is stored. */
export const sealContent = (key: CipherKey, organization: string, message: Message): Buffer => {
  const nonce = drawBytes(nonceBytes)
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(about(organization))
  return Buffer.concat([nonce, cipher.update(encodeContent(message), "utf8"), cipher.final(), cipher.getAuthTag()])
}

/** Opens what `sealContent` made; undefined under another key or for another organization. */
export const openContent = (key: CipherKey, organization: string, sealed: Uint8Array): Message | undefined => {
  if (sealed.length < nonceBytes + tagBytes) return undefined
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength)
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
    .setAAD(about(organization))
    .setAuthTag(bytes.subarray(-tagBytes))
  try {
    const text = decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, "utf8") + decipher.final("utf8")
    const found = decodeContent(text)
    return found._tag === "Some" ? found.value : undefined
  } catch {
    return undefined
  }
}

const checkOf = (sealed: Uint8Array): string =>
  Buffer.from(sealed.buffer, sealed.byteOffset, checkBytes).toString("base64url")

/** Bytes that a content takes in a shared message. */
export const bytesInFrame = (sealed: Uint8Array): number => lengthBytes + sealed.length

/** Several contents as one message. */
export const encodeFrame = (contents: ReadonlyArray<Uint8Array>): Buffer => {
  const head = Buffer.alloc(headBytes + lengthBytes * contents.length)
  head.writeUInt8(layout, 0)
  head.writeUInt32BE(contents.length, 1)
  for (const [index, content] of contents.entries()) head.writeUInt32BE(content.length, headBytes + lengthBytes * index)
  return Buffer.concat([head, ...contents])
}

/** The content at a place of a message; undefined where there is none, or the message is none of ours. */
const contentAt = (frame: Uint8Array, index: number): Uint8Array | undefined => {
  const bytes = Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength)
  if (bytes.length < headBytes || bytes.readUInt8(0) !== layout) return undefined
  const count = bytes.readUInt32BE(1)
  const begin = headBytes + lengthBytes * count
  if (index >= count || bytes.length < begin) return undefined
  let from = begin
  for (let before = 0; before < index; before++) from += bytes.readUInt32BE(headBytes + lengthBytes * before)
  const content = bytes.subarray(from, from + bytes.readUInt32BE(headBytes + lengthBytes * index))
  return content.length < nonceBytes + tagBytes ? undefined : content
}

export interface ContentPlace {
  readonly sequence: number
  readonly index: number
  readonly check: string
}

export const pointerTo = (sequence: number, index: number, sealed: Uint8Array): string =>
  `${sequence}.${index}.${checkOf(sealed)}`

const pointers = /^([1-9][0-9]{0,15})\.([0-9]{1,5})\.([A-Za-z0-9_-]{8})$/

/** The place that a pointer names; undefined for one that was not made here. */
export const placeOf = (pointer: string): ContentPlace | undefined => {
  const [, sequence, index, check] = pointers.exec(pointer) ?? []
  return check === undefined ? undefined : { sequence: Number(sequence), index: Number(index), check }
}

/** The content that a place of a message names. */
export const contentOf = (frame: Uint8Array, { check, index }: ContentPlace): Uint8Array | undefined => {
  const content = contentAt(frame, index)
  return content !== undefined && checkOf(content) === check ? content : undefined
}
