/**
 * Writes and reads the files of a backup: compressed with zstd, then encrypted in chunks with AES-256-GCM. Each file has
 * a key of its own, derived (HKDF) from the secrets key, a random salt and the file's name, so that no nonce is used
 * twice and no file can take another one's place. A nonce is the number of its chunk and whether it is the last one
 * (the STREAM construction of Hoang, Reyhanitabar, Rogaway and Vizár), so a chunk that is changed, moved or missing is
 * found at its place. Needs no service.
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto"
import { createReadStream, createWriteStream } from "node:fs"
import { stat } from "node:fs/promises"
import { type Readable, Transform, type TransformCallback } from "node:stream"
import { pipeline } from "node:stream/promises"
import { constants, createZstdCompress, createZstdDecompress } from "node:zlib"
import type { SecretsKey, SecretsKeys } from "../../common/secretsKeys.ts"

/** The beginning of each file: its layout, the id of the key, the salt. */
const layout = Buffer.from("SLB1")
const keyIdBytes = 8
const saltBytes = 16
const headBytes = layout.length + keyIdBytes + saltBytes

/** Bytes of a chunk before it is encrypted. */
const chunkBytes = 64 * 1024
const tagBytes = 16
const nonceBytes = 12

const compressionLevel = 3

/** A file is not as it was written. The message names the file and the place. */
export class FileDamaged extends Error {
  override readonly name = "FileDamaged"
}

const keyOf = ({ bytes }: SecretsKey, salt: Uint8Array, name: string): Buffer =>
  Buffer.from(hkdfSync("sha256", bytes, salt, `sluice backup file\n${name}`, bytes.length))

const nonceOf = (index: number, isLast: boolean): Buffer => {
  const nonce = Buffer.alloc(nonceBytes)
  nonce.writeBigUInt64BE(BigInt(index), nonceBytes - 9)
  nonce[nonceBytes - 1] = isLast ? 1 : 0
  return nonce
}

/** Cuts bytes into pieces of a size. The last piece is not empty, unless there are no bytes at all. */
class Pieces {
  private readonly size: number
  private parts: Array<Buffer> = []
  private length = 0

  constructor(size: number) {
    this.size = size
  }

  /** Adds bytes and answers whole pieces. One byte stays at least, because it is not known yet which piece is the last. */
  push(bytes: Buffer): ReadonlyArray<Buffer> {
    this.parts.push(bytes)
    this.length += bytes.length
    if (this.length <= this.size) return []
    const all = Buffer.concat(this.parts, this.length)
    const pieces: Array<Buffer> = []
    let from = 0
    for (; all.length - from > this.size; from += this.size) pieces.push(all.subarray(from, from + this.size))
    this.parts = [all.subarray(from)]
    this.length = all.length - from
    return pieces
  }

  rest(): Buffer {
    return Buffer.concat(this.parts, this.length)
  }
}

class SealChunks extends Transform {
  private readonly pieces = new Pieces(chunkBytes)
  private readonly key: Buffer
  private index = 0

  constructor(key: SecretsKey, name: string) {
    super()
    const salt = randomBytes(saltBytes)
    this.key = keyOf(key, salt, name)
    this.push(Buffer.concat([layout, Buffer.from(key.id, "latin1"), salt]))
  }

  private seal(piece: Buffer, isLast: boolean): void {
    const cipher = createCipheriv("aes-256-gcm", this.key, nonceOf(this.index++, isLast))
    this.push(Buffer.concat([cipher.update(piece), cipher.final(), cipher.getAuthTag()]))
  }

  override _transform(bytes: Buffer, _: BufferEncoding, done: TransformCallback): void {
    for (const piece of this.pieces.push(bytes)) this.seal(piece, false)
    done()
  }

  override _flush(done: TransformCallback): void {
    this.seal(this.pieces.rest(), true)
    done()
  }
}

class OpenChunks extends Transform {
  private readonly pieces = new Pieces(chunkBytes + tagBytes)
  private readonly keys: SecretsKeys
  private readonly file: string
  private head: Buffer = Buffer.alloc(0)
  private key: Buffer | undefined
  private index = 0

  constructor(keys: SecretsKeys, file: string) {
    super()
    this.keys = keys
    this.file = file
  }

  private readHead(bytes: Buffer): Buffer {
    this.head = Buffer.concat([this.head, bytes])
    if (this.head.length < headBytes) return Buffer.alloc(0)
    if (!this.head.subarray(0, layout.length).equals(layout))
      throw new FileDamaged(`${this.file}: it does not begin as a file of a backup does`)
    const keyId = this.head.toString("latin1", layout.length, layout.length + keyIdBytes)
    const key = this.keys.find(({ id }) => id === keyId)
    if (key === undefined) throw new FileDamaged(`${this.file}: it needs the secrets key ${JSON.stringify(keyId)}`)
    this.key = keyOf(key, this.head.subarray(headBytes - saltBytes, headBytes), this.file)
    return this.head.subarray(headBytes)
  }

  private open(piece: Buffer, isLast: boolean): void {
    const at = headBytes + this.index * (chunkBytes + tagBytes)
    if (this.key === undefined || piece.length < tagBytes)
      throw new FileDamaged(`${this.file}: it is cut at byte ${at}`)
    const nonce = nonceOf(this.index++, isLast)
    const decipher = createDecipheriv("aes-256-gcm", this.key, nonce, { authTagLength: tagBytes })
    decipher.setAuthTag(piece.subarray(-tagBytes))
    const opened = decipher.update(piece.subarray(0, -tagBytes))
    try {
      decipher.final()
    } catch {
      throw new FileDamaged(`${this.file}: the ${piece.length} bytes at byte ${at} are not those that were written`)
    }
    this.push(opened)
  }

  private attempt(step: () => void, done: TransformCallback): void {
    try {
      step()
      done()
    } catch (cause) {
      done(cause as Error)
    }
  }

  override _transform(bytes: Buffer, _: BufferEncoding, done: TransformCallback): void {
    this.attempt(() => {
      const rest = this.key === undefined ? this.readHead(bytes) : bytes
      for (const piece of this.pieces.push(rest)) this.open(piece, false)
    }, done)
  }

  override _flush(done: TransformCallback): void {
    this.attempt(() => this.open(this.pieces.rest(), true), done)
  }
}

/** A written file, as a manifest names it. */
export interface WrittenFile {
  readonly bytes: number
  /** Of the file as it is on disk, hexadecimal. */
  readonly sha256: string
}

export interface SealOptions {
  /** The place to write, and the name that the file has in the folder of backups: it opens under that name alone. */
  readonly path: string
  readonly name: string
  readonly key: SecretsKey
  readonly signal?: AbortSignal | undefined
}

/** Writes a file, mode 0600, and flushes it to the disk. It must not be there yet. */
export const writeSealed = async (
  { key, name, path, signal }: SealOptions,
  source: AsyncIterable<Uint8Array>
): Promise<WrittenFile> => {
  const digest = createHash("sha256")
  let bytes = 0
  const count = async function* (sealed: AsyncIterable<Buffer>) {
    for await (const chunk of sealed) {
      digest.update(chunk)
      bytes += chunk.length
      yield chunk
    }
  }
  await pipeline(
    source,
    createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: compressionLevel } }),
    new SealChunks(key, name),
    count,
    createWriteStream(path, { flags: "wx", mode: 0o600, flush: true }),
    signal === undefined ? {} : { signal }
  )
  return { bytes, sha256: digest.digest("hex") }
}

async function* bytesOf(path: string, name: string): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(path)
  } catch (cause) {
    throw (cause as NodeJS.ErrnoException).code === "ENOENT" ? new FileDamaged(`${name}: the file is missing`) : cause
  }
}

/** Opens a file for reading. The readable fails with `FileDamaged` where the file is not as it was written. */
export const readSealed = (path: string, name: string, keys: SecretsKeys): Readable => {
  const plain = createZstdDecompress()
  pipeline(bytesOf(path, name), new OpenChunks(keys, name), plain).catch((cause: Error) => plain.destroy(cause))
  return plain
}

/** A sentence about a file that is missing, cut or too long; undefined where its length is right. */
export const lengthProblem = async (path: string, name: string, bytes: number): Promise<string | undefined> => {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) return `${name}: the file is missing`
  if (found.size < bytes) return `${name}: the file is cut at byte ${found.size} of ${bytes}`
  return found.size > bytes ? `${name}: the file has ${found.size} bytes instead of ${bytes}` : undefined
}

/** A sentence about a file whose digest is another one; undefined where it is the same. */
export const digestProblem = async (path: string, name: string, sha256: string): Promise<string | undefined> => {
  const digest = createHash("sha256")
  for await (const chunk of createReadStream(path)) digest.update(chunk as Buffer)
  return digest.digest("hex") === sha256 ? undefined : `${name}: its SHA-256 is another one than in the manifest`
}
