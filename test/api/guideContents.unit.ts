/** The contents of the guides: every document is in them, and each question of a newcomer leads to a page. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { documentsFolder, guideGroups } from "../../src/api/guides/guideContents.ts"

const contents = readFileSync(join(documentsFolder, "README.md"), "utf8")

/** Words of each question, and a word that its page must have. */
const questions: ReadonlyArray<readonly [question: RegExp, answer: RegExp]> = [
  [/first email with curl/, /^# first_email\.sh$/m],
  [/first email with Node/, /^\/\/ first_email\.mjs$/m],
  [/first email with Python/, /^# first_email\.py$/m],
  [/verify my domain/, /\/v1\/send\/domains/],
  [/speaks SMTP/, /### 9.18 Submission by SMTP/],
  [/receive bounces/, /send\.email\.bounced/],
  [/signature in Go, Python or PHP/, /func isOurs[\s\S]*|def is_ours|function is_ours/],
  [/Docker, compose or Kubernetes/, /^podman build/m],
  [/back up and restore/, /## Restore one/],
  [/upgrade/, /## One machine/],
  [/monitor/, /sluice_log_lines_left_out_total/],
  [/nginx and TLS/, /ssl_certificate/],
  [/rotate secrets/, /`new,old`/],
  [/embed an actor/, /Actor\.make/],
  [/call a payment service once/, /Worker\.make/],
  [/test my rules/, /given\(/],
  [/PostgreSQL is away/, /SLUICE_KEY_GRACE/],
  [/other caps have done/, /sluice what-if --org/],
  [/all the settings/, /`SLUICE_SECRETS_KEY`/]
]

describe("the contents of the guides", () => {
  it("answer questions, each with a page that has the answer", () => {
    const rows = [...contents.matchAll(/^\| (How[^|]+|What[^|]+\?) \| \[[^\]]+\]\(([\w./-]+\.md)/gm)]
    expect(rows.length).toBe(questions.length)
    for (const [question, answer] of questions) {
      const row = rows.find(([, asked]) => question.test(asked!))
      expect(row?.[2], String(question)).toBeDefined()
      expect(readFileSync(join(documentsFolder, row![2]!), "utf8"), row![2]).toMatch(answer)
    }
  })

  it("list every document once, with a title and a line about it", () => {
    const guides = guideGroups().flatMap((group) => group.guides)
    const listed = guides.map(({ file }) => file)
    const documents = readdirSync(documentsFolder, { recursive: true, encoding: "utf8" }).filter(
      // The parts of docs/platform.md are listed there.
      (file) => file.endsWith(".md") && !/^(?:README\.md|platform\/|\.)/.test(file)
    )
    expect(listed.toSorted()).toEqual(documents.toSorted())
    for (const { description, title } of guides) expect(title !== "" && description !== "").toBe(true)
  })

  it("name a page that is missing", () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-contents-"))
    try {
      writeFileSync(join(folder, "README.md"), "# Documents\n\n## One\n\n| [a.md](a.md) | First |\n")
      expect(() => guideGroups(folder)).toThrow(/a\.md/)
      writeFileSync(join(folder, "a.md"), "# The first\n")
      expect(guideGroups(folder)).toEqual([
        { title: "One", guides: [{ file: "a.md", title: "The first", description: "First" }] }
      ])
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
