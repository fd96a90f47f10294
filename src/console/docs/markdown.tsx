/** Renders the Markdown of descriptions: headings, paragraphs, lists, tables, code and links. It makes elements, never HTML. */
import type { ComponentChildren } from "preact"
import { Command } from "../ui/basics.tsx"

const inlinePart = /(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)\s]+\))/

const inline = (text: string): ReadonlyArray<ComponentChildren> =>
  text.split(inlinePart).map((part, index) => {
    if (index % 2 === 0) return part
    if (part.startsWith("`")) return <code key={index}>{part.slice(1, -1)}</code>
    if (part.startsWith("**")) return <strong key={index}>{part.slice(2, -2)}</strong>
    const [, word = "", to = ""] = /^\[([^\]]+)\]\(([^)\s]+)\)$/.exec(part) ?? []
    // No description leads to a script.
    return /^(?:https?:\/\/|\/|#)/.test(to) ? (
      <a key={index} href={to}>
        {word}
      </a>
    ) : (
      word
    )
  })

const cellsOf = (line: string): ReadonlyArray<string> =>
  line
    .replace(/^\||\|\s*$/g, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"))

const TableBlock = ({ lines }: { readonly lines: ReadonlyArray<string> }) => {
  const [head = "", , ...rows] = lines
  return (
    <div class="table">
      <table>
        <thead>
          <tr>
            {cellsOf(head).map((cell, index) => (
              <th key={index} scope="col">
                {cell === "" ? <span class="hidden">Meaning</span> : inline(cell)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {cellsOf(row).map((cell, at) => (
                <td key={at} data-head={cellsOf(head)[at]}>
                  <span>{inline(cell)}</span>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const Block = ({ text }: { readonly text: string }) => {
  const lines = text.split("\n")
  const code = /^```\w*\n([\s\S]*?)\n```$/.exec(text)
  if (code !== null) return <Command text={code[1]!} />
  const heading = /^(#{1,4}) (.*)$/.exec(lines[0]!)
  if (heading !== null) return <h2>{inline(heading[2]!)}</h2>
  if (lines.length > 1 && /^\|?[\s:|-]+$/.test(lines[1]!)) return <TableBlock lines={lines} />
  if (lines.every((line) => /^(?:[-*] |\s+)/.test(line)))
    return (
      <ul>
        {text.split(/\n(?=[-*] )/).map((item, index) => (
          <li key={index}>{inline(item.replace(/^[-*] /, "").replaceAll(/\s*\n\s*/g, " "))}</li>
        ))}
      </ul>
    )
  return <p>{inline(text.replaceAll("\n", " "))}</p>
}

/** The blocks of a text; code keeps its empty lines. */
const blocksOf = (text: string): ReadonlyArray<string> =>
  (text.match(/```[\s\S]*?\n```|(?:(?!\n\n|```)[\s\S])+/g) ?? [])
    .map((block) => block.trim())
    .filter((block) => block !== "")

export const Markdown = ({ text }: { readonly text: string }) => (
  <div class="prose">
    {blocksOf(text).map((block, index) => (
      <Block key={index} text={block} />
    ))}
  </div>
)
