/** Writes tables and pages of Markdown. */

/** A cell's text without what ends a cell or a line. */
const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ")

export const table = (header: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  [header, header.map(() => "---"), ...rows].map((row) => `| ${row.map(cell).join(" | ")} |`).join("\n")

export const code = (text: string): string => `\`${text}\``

/** A page that says where it comes from. */
export const page = (title: string, introduction: string, ...parts: ReadonlyArray<string>): string =>
  `${[`# ${title}`, introduction, "`npm run reference` writes this page from the code.", ...parts].join("\n\n")}\n`
