/**
 * Reads the guides' contents from docs/README.md: its headings are groups, and its links are pages. The site's
 * navigation, `llms.txt` and `llms-full.txt` come from it, so they never differ. Needs no service.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

/** The folder of the documents, in a checkout and in the package. */
export const documentsFolder = fileURLToPath(new URL("../../../docs/", import.meta.url))

/** A page, and one line about it. */
export interface Guide {
  /** Path of its file below the folder of the documents, such as `reference/events.md`. */
  readonly file: string
  readonly title: string
  readonly description: string
}

/** Pages for one task. */
export interface GuideGroup {
  readonly title: string
  readonly guides: ReadonlyArray<Guide>
}

/** The first page, which lists the others. */
const contentsFile = "README.md"

const row = /^\| \[[^\]]+\]\(([\w./-]+\.md)\) \| (.+) \|$/gm

const textOf = (file: string, folder: string): string => readFileSync(join(folder, file), "utf8")

/** The title of a page: its first heading. */
const titleOf = (text: string): string => /^# (.+)$/m.exec(text)?.[1] ?? ""

const plain = (text: string): string => text.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, "$1").replaceAll("\\|", "|")

/** Groups of pages in the order of docs/README.md. Throws where the file of a page is missing. */
export const guideGroups = (folder: string = documentsFolder): ReadonlyArray<GuideGroup> =>
  textOf(contentsFile, folder)
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      title: section.slice(0, section.indexOf("\n")),
      guides: [...section.matchAll(row)].map(([, file, description]) => ({
        file: file!,
        title: titleOf(textOf(file!, folder)),
        description: plain(description!)
      }))
    }))
    .filter(({ guides }) => guides.length > 0)

/** The index for language models (llmstxt.org): a link to the text of each page. */
export const llmsText = (folder: string = documentsFolder): string => {
  const groups = guideGroups(folder).map(
    ({ guides, title }) =>
      `## ${title}\n\n${guides.map(({ description, file, title }) => `- [${title}](/guides/${file}): ${description}`).join("\n")}\n`
  )
  const head =
    "# Sluice\n\n> Sluice is an actor-based stream processing engine and a platform on it: number directory, email, events, webhooks, speech and billing.\n\nThe API is described in [OpenAPI](/openapi.json). All pages in one file: [llms-full.txt](/guides/llms-full.txt).\n"
  return [head, ...groups].join("\n")
}

/** Every page in one text, in the order of the contents. */
export const llmsFullText = (folder: string = documentsFolder): string =>
  guideGroups(folder)
    .flatMap(({ guides }) => guides)
    .map(({ file }) => `<!-- /guides/${file} -->\n\n${textOf(file, folder).trim()}\n`)
    .join("\n\n")
