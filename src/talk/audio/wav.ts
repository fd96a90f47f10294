/**
 * Reads the header of WAV files (RIFF), and writes one with true lengths. Programs and services that write a WAV file
 * while they make it cannot know its length, and put a false one. Pure.
 */

/** A WAV file: its `fmt ` chunk and its samples. */
interface Wav {
  readonly format: Uint8Array
  readonly samples: Uint8Array
}

/** A whole WAV file, in pieces. */
export interface WholeWav {
  readonly pieces: ReadonlyArray<Uint8Array>
  readonly byteLength: number
  readonly durationMillis: number
}

const riffHeaderBytes = 12
const chunkHeaderBytes = 8
/** Shortest `fmt ` chunk. */
const formatBytes = 16

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

const nameAt = (bytes: Uint8Array, at: number): string => String.fromCharCode(...bytes.subarray(at, at + 4))

/**
 * Reads a file; the length of its samples is believed only where the file has as many. Undefined: it is no WAV file.
 */
const readWav = (file: Uint8Array): Wav | undefined => {
  if (nameAt(file, 0) !== "RIFF" || nameAt(file, 8) !== "WAVE") return undefined
  const view = viewOf(file)
  let format: Uint8Array | undefined
  for (let at = riffHeaderBytes; at + chunkHeaderBytes <= file.length; ) {
    const name = nameAt(file, at)
    const size = view.getUint32(at + 4, true)
    const from = at + chunkHeaderBytes
    if (name === "fmt " && size >= formatBytes) format = file.subarray(from, from + size)
    if (name === "data") {
      if (format === undefined || format.length < formatBytes) return undefined
      const frameBytes = viewOf(format).getUint16(12, true)
      if (frameBytes === 0) return undefined
      // None that is a placeholder: a service that did not know the length wrote 0 or one that nothing fills.
      const length = size > 0 && from + size <= file.length ? size : file.length - from
      return { format, samples: file.subarray(from, from + length - (length % frameBytes)) }
    }
    at = from + size + (size % 2)
  }
  return undefined
}

const headerOf = (format: Uint8Array, sampleBytes: number): Uint8Array => {
  const header = new Uint8Array(riffHeaderBytes + chunkHeaderBytes + format.length + chunkHeaderBytes)
  const view = viewOf(header)
  const put = (at: number, name: string, size: number) => {
    for (let index = 0; index < 4; index++) header[at + index] = name.charCodeAt(index)
    view.setUint32(at + 4, size, true)
  }
  put(0, "RIFF", header.length - chunkHeaderBytes + sampleBytes + (sampleBytes % 2))
  for (const [index, letter] of [..."WAVE"].entries()) header[8 + index] = letter.charCodeAt(0)
  put(riffHeaderBytes, "fmt ", format.length)
  header.set(format, riffHeaderBytes + chunkHeaderBytes)
  put(header.length - chunkHeaderBytes, "data", sampleBytes)
  return header
}

const isSame = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && one.every((byte, at) => byte === other[at])

/**
 * Joins WAV files into one whose header says its true lengths. Undefined where one of them is no WAV file, or has
 * another format than the first one.
 */
export const joinWavs = (files: ReadonlyArray<Uint8Array>): WholeWav | undefined => {
  const wavs: Array<Wav> = []
  for (const file of files) {
    const wav = readWav(file)
    if (wav === undefined || !isSame(wav.format, wavs[0]?.format ?? wav.format)) return undefined
    wavs.push(wav)
  }
  const format = wavs[0]?.format
  if (format === undefined) return undefined
  const sampleBytes = wavs.reduce((sum, { samples }) => sum + samples.length, 0)
  const bytesPerSecond = viewOf(format).getUint32(8, true)
  if (bytesPerSecond === 0) return undefined
  const header = headerOf(format, sampleBytes)
  const padding = sampleBytes % 2 === 0 ? [] : [new Uint8Array(1)]
  const pieces = [header, ...wavs.map(({ samples }) => samples), ...padding]
  return {
    pieces,
    byteLength: pieces.reduce((sum, piece) => sum + piece.length, 0),
    durationMillis: Math.round((sampleBytes * 1000) / bytesPerSecond)
  }
}
