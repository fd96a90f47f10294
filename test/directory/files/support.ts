/** Helpers of the file readers' tests: parsing bytes in one call, printing records, packing archives, serving files. */
import { readFileSync } from "node:fs"
import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import { crc32, deflateRawSync, gunzipSync } from "node:zlib"
import { Effect, type Scope } from "effect"
import { makeFileParser, type Verdict } from "../../../src/directory/files/parser.ts"
import { layer, openSource, readFile } from "../../../src/directory/files/read.ts"
import type { AreaCodeRecord, BlockRecord, CarrierTypeRecord, CodeRecord } from "../../../src/directory/model.ts"

export interface Parsed {
  readonly verdict: Verdict
  readonly codes: ReadonlyArray<CodeRecord>
  readonly carriers: ReadonlyArray<CarrierTypeRecord>
  readonly areaCodes: ReadonlyArray<AreaCodeRecord>
  readonly blocks: ReadonlyArray<BlockRecord>
}

/** Reads a file's content, pushed in pieces of `chunk` bytes. */
export const parse = (content: string | Uint8Array, chunk = 65_536): Parsed => {
  const bytes = typeof content === "string" ? Buffer.from(content) : content
  const parser = makeFileParser()
  for (let at = 0; at < bytes.length; at += chunk) parser.push(bytes.subarray(at, at + chunk))
  const verdict = parser.end()
  const codes: Array<CodeRecord> = []
  const carriers: Array<CarrierTypeRecord> = []
  const areaCodes: Array<AreaCodeRecord> = []
  const blocks: Array<BlockRecord> = []
  for (let data = parser.take(1_000); data !== null; data = parser.take(1_000)) {
    if (data.kind === "CARRIER_TYPES") carriers.push(...data.records)
    else if (data.kind === "NPA_REPORT") areaCodes.push(...data.records)
    else if (data.kind === "NANPA_BLOCKS") blocks.push(...data.records)
    else codes.push(...data.records)
  }
  return { verdict, codes, carriers, areaCodes, blocks }
}

/** The result of a file that must be complete. */
export const complete = (verdict: Verdict) => {
  if (verdict._tag !== "Complete") throw new Error(`expected a complete file, not ${JSON.stringify(verdict)}`)
  return verdict.result
}

/** The refusal of a file that must be refused. */
export const refused = (verdict: Verdict) => {
  if (verdict._tag !== "Refused") throw new Error(`expected a refused file, not ${verdict._tag}`)
  return verdict
}

export const fixturePath = (name: string): string => new URL(`fixtures/${name}`, import.meta.url).pathname

/** A fixture's content, unpacked. */
export const fixture = (name: string): Buffer => {
  const bytes = readFileSync(fixturePath(name))
  return name.endsWith(".gz") ? gunzipSync(bytes) : bytes
}

/** Opens a source and reads all files in it. */
export const readSource = Effect.fnUntraced(
  function* (source: string) {
    const opened = yield* openSource(source)
    const codes: Array<CodeRecord> = []
    const carriers: Array<CarrierTypeRecord> = []
    const areaCodes: Array<AreaCodeRecord> = []
    const blocks: Array<BlockRecord> = []
    const batches: Array<number> = []
    const summaries = yield* Effect.forEach(opened.files, (file) =>
      readFile(file, ({ data }) =>
        Effect.sync(() => {
          batches.push(data.records.length)
          if (data.kind === "CARRIER_TYPES") carriers.push(...data.records)
          else if (data.kind === "NPA_REPORT") areaCodes.push(...data.records)
          else if (data.kind === "NANPA_BLOCKS") blocks.push(...data.records)
          else codes.push(...data.records)
        })
      )
    )
    return { opened, summaries, codes, carriers, areaCodes, blocks, batches }
  },
  Effect.scoped,
  Effect.provide(layer)
)

/** How often each key occurs, keys in order. */
export const tally = <A>(items: ReadonlyArray<A>, key: (item: A) => string | null): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const item of items) counts[String(key(item))] = (counts[String(key(item))] ?? 0) + 1
  return Object.fromEntries(Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** A zip archive of the given files. */
export const zip = (
  files: ReadonlyArray<{ readonly name: string; readonly content: Uint8Array; readonly encrypted?: boolean }>
): Buffer => {
  const local: Array<Buffer> = []
  const central: Array<Buffer> = []
  let offset = 0
  for (const { content, encrypted, name } of files) {
    const packed = deflateRawSync(content)
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(20, 0)
    fields.writeUInt16LE(encrypted === true ? 1 : 0, 2)
    fields.writeUInt16LE(8, 4)
    fields.writeUInt32LE(crc32(content), 10)
    fields.writeUInt32LE(packed.length, 14)
    fields.writeUInt32LE(content.length, 18)
    fields.writeUInt16LE(Buffer.byteLength(name), 22)
    const header = Buffer.concat([Buffer.from("PK\u0003\u0004", "latin1"), fields, Buffer.from(name)])
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(offset, 10)
    central.push(Buffer.concat([Buffer.from("PK\u0001\u0002\u0014\u0000", "latin1"), fields, tail, Buffer.from(name)]))
    local.push(header, packed)
    offset += header.length + packed.length
  }
  const directory = Buffer.concat(central)
  const end = Buffer.alloc(22)
  end.write("PK\u0005\u0006", 0, "latin1")
  end.writeUInt16LE(files.length, 8)
  end.writeUInt16LE(files.length, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...local, directory, end])
}

/** A web server on loopback for the time of the scope; answers its address. */
export const serve = (listener: RequestListener): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<{ readonly address: string; readonly close: () => void }>((resume) => {
      const server = createServer(listener)
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        const close = () => {
          server.closeAllConnections()
          server.close()
        }
        resume(Effect.succeed({ address: `http://127.0.0.1:${port}`, close }))
      })
    }),
    (server) => Effect.sync(server.close)
  ).pipe(Effect.map((server) => server.address))
