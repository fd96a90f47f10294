/**
 * Arrays in PostgreSQL's binary form (as `array_send` writes them): for columns of batches, whose text form would have to be quoted here and
 * taken apart there character by character. Only what has one obvious form; everything else goes as text. Needs no service.
 */

interface ElementType {
  /** Its object id in PostgreSQL's catalogue (`pg_type.dat`). */
  readonly oid: number
  /** Of one element; undefined where they differ. */
  readonly bytes?: number
  /** Integers from `-limit` to below `limit` are sent. */
  readonly limit?: number
}

const elementTypes: Readonly<Record<string, ElementType>> = {
  bool: { oid: 16, bytes: 1 },
  int8: { oid: 20, bytes: 8, limit: Number.MAX_SAFE_INTEGER },
  int2: { oid: 21, bytes: 2, limit: 2 ** 15 },
  int4: { oid: 23, bytes: 4, limit: 2 ** 31 },
  text: { oid: 25 }
}

const headerBytes = 20
const emptyBytes = 12
const sizeBytes = 4

const twoTo32 = 2 ** 32

const header = (buffer: Buffer, oid: number, count: number, hasNull: boolean): void => {
  buffer.writeInt32BE(1, 0)
  buffer.writeInt32BE(hasNull ? 1 : 0, 4)
  buffer.writeInt32BE(oid, 8)
  buffer.writeInt32BE(count, 12)
  buffer.writeInt32BE(1, 16)
}

const isNull = (value: unknown): value is null | undefined => value === null || value === undefined

const texts = (values: ReadonlyArray<unknown>, oid: number): Buffer | undefined => {
  let bytes = headerBytes
  let hasNull = false
  const sizes = new Int32Array(values.length)
  for (let index = 0; index < values.length; index++) {
    const value = values[index]
    if (typeof value === "string") sizes[index] = Buffer.byteLength(value)
    else if (isNull(value)) {
      hasNull = true
      sizes[index] = -1
    } else return undefined
    bytes += sizeBytes + Math.max(0, sizes[index]!)
  }
  const buffer = Buffer.allocUnsafe(bytes)
  header(buffer, oid, values.length, hasNull)
  let at = headerBytes
  for (let index = 0; index < values.length; index++) {
    const size = sizes[index]!
    buffer.writeInt32BE(size, at)
    at += sizeBytes
    if (size <= 0) continue
    buffer.write(values[index] as string, at, size)
    at += size
  }
  return buffer
}

const numbers = (values: ReadonlyArray<unknown>, oid: number, size: number, limit?: number): Buffer | undefined => {
  const buffer = Buffer.allocUnsafe(headerBytes + values.length * (sizeBytes + size))
  let hasNull = false
  let at = headerBytes
  for (const value of values) {
    if (isNull(value)) {
      hasNull = true
      at = buffer.writeInt32BE(-1, at)
      continue
    }
    if (limit === undefined) {
      if (typeof value !== "boolean") return undefined
      at = buffer.writeInt32BE(size, at)
      at = buffer.writeUInt8(value ? 1 : 0, at)
      continue
    }
    if (typeof value !== "number" || !Number.isInteger(value) || value >= limit || value < -limit) return undefined
    at = buffer.writeInt32BE(size, at)
    if (size === 8) {
      at = buffer.writeInt32BE(Math.floor(value / twoTo32), at)
      at = buffer.writeUInt32BE(value >>> 0, at)
    } else at = size === 4 ? buffer.writeInt32BE(value, at) : buffer.writeInt16BE(value, at)
  }
  header(buffer, oid, values.length, hasNull)
  return buffer.subarray(0, at)
}

/** The values as an array of the element type, or undefined where they are better sent as text. */
export const binaryArray = (type: string, values: ReadonlyArray<unknown>): Buffer | undefined => {
  const elementType = elementTypes[type]
  if (elementType === undefined) return undefined
  const { bytes, limit, oid } = elementType
  if (values.length === 0) {
    const buffer = Buffer.alloc(emptyBytes)
    buffer.writeInt32BE(oid, 8)
    return buffer
  }
  return bytes === undefined ? texts(values, oid) : numbers(values, oid, bytes, limit)
}
