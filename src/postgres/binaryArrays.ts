/**
 * Arrays in PostgreSQL's binary form (as `array_send` writes them): for columns of batches, whose text form would have to be quoted here and
 * taken apart there character by character. Only what has one obvious form; everything else goes as text. Needs no service.
 */

/** Object ids of the element types, from PostgreSQL's catalogue (`pg_type.dat`). */
const elementOids: Readonly<Record<string, number>> = { bool: 16, int8: 20, int2: 21, int4: 23, text: 25 }

const headerBytes = 20
const emptyBytes = 12
const sizeBytes = 4

const twoTo32 = 2 ** 32

/** Fewer bytes than this are not worth a buffer of their own. */
const bytesOf = (type: string): number => (type === "int8" ? 8 : type === "int4" ? 4 : type === "int2" ? 2 : 1)

const limits: Readonly<Record<string, number>> = { int2: 2 ** 15, int4: 2 ** 31, int8: Number.MAX_SAFE_INTEGER }

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

const numbers = (type: string, values: ReadonlyArray<unknown>, oid: number): Buffer | undefined => {
  const size = bytesOf(type)
  const limit = limits[type]
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
  const oid = elementOids[type]
  if (oid === undefined) return undefined
  if (values.length === 0) {
    const buffer = Buffer.alloc(emptyBytes)
    buffer.writeInt32BE(oid, 8)
    return buffer
  }
  return type === "text" ? texts(values, oid) : numbers(type, values, oid)
}
