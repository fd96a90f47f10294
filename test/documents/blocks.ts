/** The fenced blocks of all documents, and which of them are programs of files or generated from the code. */
import { readdirSync, readFileSync } from "node:fs"

const root = new URL("../../", import.meta.url).pathname

/** A fenced block of a document. */
export interface Block {
  readonly document: string
  readonly line: number
  /** The heading above it, without its marks. */
  readonly heading: string
  /** The first word behind the fence; empty for output. */
  readonly language: string
  /** The label of its tab: `[curl]`. */
  readonly tab: string
  readonly text: string
  /** The lines of prose between it and the block before it under the same heading; undefined for the first. */
  readonly after: string | undefined
}

/** All documents for readers. */
export const documents: ReadonlyArray<string> = [
  "README.md",
  "clients/README.md",
  ...readdirSync(`${root}docs`, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".md") && !file.startsWith("."))
    .map((file) => `docs/${file}`)
    .sort()
]

const part = /^#+ (?<heading>.*)$|^```(?<info>.*)\n(?<text>[\s\S]*?)^```$/gm

/** The blocks of a text, in order. */
export const blocksIn = (document: string, text: string): ReadonlyArray<Block> => {
  const found: Array<Block> = []
  let heading = ""
  let end: number | undefined
  for (const { 0: whole, groups, index } of text.matchAll(part)) {
    if (groups!.info === undefined) {
      heading = groups!.heading!
      end = undefined
      continue
    }
    const [, language, tab] = /^(\S*) ?(.*)$/.exec(groups!.info)!
    const line = text.slice(0, index).split("\n").length
    const after = end === undefined ? undefined : text.slice(end, index).trim()
    found.push({ document, line, heading, language: language!, tab: tab!, text: groups!.text!.trimEnd(), after })
    end = index + whole.length
  }
  return found
}

/** The blocks of a document. */
export const blocksOf = (document: string): ReadonlyArray<Block> =>
  blocksIn(document, readFileSync(`${root}${document}`, "utf8"))

/** Finds the one block of a document that begins so. */
export const blockOf = (document: string, beginning: string): Block => {
  const found = blocksOf(document).filter(({ text }) => text.startsWith(beginning))
  if (found.length !== 1) throw new Error(`${document}: ${found.length} blocks begin with ${beginning}`)
  return found[0]!
}

/** Whether a block shows the output of the one before it: JSON or text, with at most a few words between. */
export const isOutput = ({ after, language }: Block): boolean =>
  after !== undefined && after.length < 40 && ["json", ""].includes(language)
