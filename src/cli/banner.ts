/** Writes the lines of a start that is ready: the addresses, and how to stop. Colours are for terminals alone. */
import { styleText } from "node:util"

/** The columns of a label and the blanks behind it. */
const labelColumns = 9

/** A line of the banner: `  API      http://…`. */
export const bannerLine = (label: string, text: string): string => `  ${label.padEnd(labelColumns)}${text}`

export interface BannerLines {
  /** The text that a terminal shows first. */
  readonly title: ReadonlyArray<string>
  /** Where the API and its pages are. */
  readonly url: string
  /** The address that opens the console. */
  readonly console: string
  readonly hasMailbox: boolean
  /** The process that ends the platform on a signal. */
  readonly pid: number
}

/** The banner as plain text. */
export const banner = ({ console, hasMailbox, pid, title, url }: BannerLines): string =>
  [
    ...title,
    "",
    bannerLine("API", url),
    bannerLine("Docs", `${url}/docs`),
    bannerLine("Console", console),
    ...(hasMailbox ? [bannerLine("Mailbox", `${url}/dev/mailbox`)] : []),
    bannerLine("Stop", `Ctrl-C, or kill ${pid}`),
    ""
  ].join("\n")

/** Whether texts on stdout may be coloured: on a terminal that has colours, unless NO_COLOR says otherwise. */
export const mayColour = (): boolean =>
  process.stdout.isTTY === true && (process.env.NO_COLOR ?? "") === "" && process.env.TERM !== "dumb"

/** Colours lines of the banner: labels step back, addresses and keys stand out. */
export const coloured = (text: string): string => {
  const style = (format: "bold" | "cyan" | "dim", part: string) => styleText(format, part, { validateStream: false })
  return text
    .replace(/^Sluice .*$/m, (line) => style("bold", line))
    .replace(
      /^( {2})(\w+ +)(\S+)( {3}\(.*)?$/gm,
      (_, blanks: string, label: string, value: string, note: string | undefined) =>
        `${blanks}${style("dim", label)}${style("cyan", value)}${note === undefined ? "" : style("dim", note)}`
    )
}

/** The text as this process's stdout shows it. */
export const onStdout = (text: string): string => (mayColour() ? coloured(text) : text)
