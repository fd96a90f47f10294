/**
 * How values travel between JavaScript and PostgreSQL, where the client does it differently. One rule for pooled,
 * streamed and dedicated reads, for columns and for elements of arrays:
 *
 * - `int8` is a number while it is exact (up to 2^53 - 1 either way) and a `bigint` beyond: never rounded;
 * - `bytea` is a copied Buffer, since the client's is a view of the network buffer.
 *
 * For the rest see `PgTypes` of the client: `numeric` and `date` are strings, `timestamptz` and `timestamp` Dates,
 * `json` and `jsonb` parsed.
 */
import { PgTypes } from "@effect/sql-pg"
import { Result } from "effect"

const twoTo32 = 2 ** 32

const readInt8 = (bytes: Uint8Array, offset: number): number | bigint => {
  const view = new DataView(bytes.buffer, bytes.byteOffset + offset, 8)
  const value = view.getInt32(0) * twoTo32 + view.getUint32(4)
  return Number.isSafeInteger(value) ? value : view.getBigInt64(0)
}

/** An exact integer of 64 bits. Throws on anything else, without quoting the value. */
const toInt8 = (value: unknown): bigint => {
  const exact = typeof value === "bigint" ? value : Number.isSafeInteger(value) ? BigInt(value as number) : undefined
  if (exact === undefined || BigInt.asIntN(64, exact) !== exact) {
    throw new PgTypes.CodecError({ message: "Expected an exact integer of 64 bits for int8" })
  }
  return exact
}

const coded = <A>(evaluate: () => A): Result.Result<A, PgTypes.CodecError> => {
  try {
    return Result.succeed(evaluate())
  } catch (cause) {
    if (cause instanceof PgTypes.CodecError) return Result.fail(cause)
    throw cause
  }
}

const int8: PgTypes.Codec<number | bigint> = {
  encode: (value) =>
    coded(() => {
      const bytes = new Uint8Array(8)
      new DataView(bytes.buffer).setBigInt64(0, toInt8(value))
      return bytes
    }),
  decode: (bytes) => Result.succeed(readInt8(bytes, 0)),
  write: (sink, value) => coded(() => sink.bigInt64(toInt8(value))),
  read: (bytes, offset) => Result.succeed(readInt8(bytes, offset))
}

const bytea: PgTypes.Codec<Uint8Array> = {
  encode: (value) => Result.succeed(value),
  decode: (bytes) => Result.succeed(Buffer.from(bytes)),
  write: (sink, value) => Result.succeed(sink.raw(value)),
  read: (bytes, offset, size) => Result.succeed(Buffer.from(bytes.subarray(offset, offset + size)))
}

/** The types of every connection of the adapter. */
export const typeRegistry: PgTypes.Registry = PgTypes.makeRegistry()
typeRegistry.register(PgTypes.OID.int8, int8)
typeRegistry.register(PgTypes.OID.bytea, bytea)
