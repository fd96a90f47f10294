/**
 * Makes the report of the public types (`npm run api`): a file for each of the package's `exports`, with what it
 * exports, as declared, and the types behind it, so that a change of what users see shows in a review. It is made of
 * the declarations that the build writes. Comments are left out.
 */
import { existsSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { parseAst } from "rolldown/parseAst"

/** A node of the parser, as far as it is looked at. */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [property: string]: unknown
}

/** Something that a file declares under a name; overloads have several texts. */
interface Declared {
  readonly file: string
  readonly name: string
  readonly texts: Array<string>
  readonly nodes: Array<Node>
}

/** Where a name of a file comes from; `*` is a whole file. */
interface Source {
  readonly file: string | undefined
  readonly name: string
}

interface Module {
  readonly declared: ReadonlyMap<string, Declared>
  readonly imported: ReadonlyMap<string, Source>
  readonly exported: ReadonlyMap<string, Source | string>
  /** Files whose exports are all exported again. */
  readonly all: ReadonlyArray<string>
}

const nameOf = (node: unknown): string => {
  const { name, value } = node as { readonly name?: string; readonly value?: string }
  return name ?? value ?? ""
}

/** The file of ours that a specifier means; undefined for another package's. */
const sourceOf = (file: string, specifier: string): string | undefined =>
  specifier.startsWith(".") ? join(dirname(file), specifier.replace(/\.[jt]sx?$/, ".d.ts")) : undefined

/** The first name of a qualified one. */
const firstName = (node: unknown): string => {
  const { left } = node as { readonly left?: unknown }
  return left === undefined ? nameOf(node) : firstName(left)
}

/** Text without comments and with single blanks, so that only its meaning is compared. */
const plain = (text: string): string =>
  text
    .replace(/\/\*[\s\S]*?\*\/\s*/g, "")
    .replace(/^(export )?(default )?(declare )?/, "")
    .replace(/[ \t]+\n/g, "\n")
    .replace(/\n{2,}/g, "\n")
    .trim()

const declarationsOf = (statement: Node): ReadonlyArray<readonly [string, Node]> => {
  if (statement.type === "VariableDeclaration")
    return (statement.declarations as ReadonlyArray<Node>).map((one) => [nameOf(one.id), one] as const)
  return statement.id === undefined || statement.id === null ? [] : [[nameOf(statement.id), statement]]
}

/** Reads a file of declarations. */
const readModule = (file: string): Module => {
  const text = readFileSync(file, "utf8")
  const declared = new Map<string, Declared>()
  const imported = new Map<string, Source>()
  const exported = new Map<string, Source | string>()
  const all: Array<string> = []
  const declare = (statement: Node, isExported: boolean) => {
    for (const [name, node] of declarationsOf(statement)) {
      const keyword = statement.type === "VariableDeclaration" ? `${String(statement.kind)} ` : ""
      const found = declared.get(name) ?? { file, name, texts: [], nodes: [] }
      found.texts.push(plain(`${keyword}${text.slice(node.start, node.end)}`))
      found.nodes.push(node)
      declared.set(name, found)
      if (isExported) exported.set(name, name)
    }
  }
  for (const node of (parseAst(text, { lang: "dts" }) as unknown as { readonly body: ReadonlyArray<Node> }).body) {
    const specifiers = (node.specifiers ?? []) as ReadonlyArray<Node>
    if (node.type === "ImportDeclaration") {
      for (const one of specifiers) {
        const name = one.type === "ImportSpecifier" ? nameOf(one.imported) : "*"
        imported.set(nameOf(one.local), { file: sourceOf(file, nameOf(node.source)), name })
      }
    } else if (node.type === "ExportAllDeclaration") {
      const source = sourceOf(file, nameOf(node.source))
      if (source === undefined) continue
      if (node.exported === null || node.exported === undefined) all.push(source)
      else exported.set(nameOf(node.exported), { file: source, name: "*" })
    } else if (node.type === "ExportNamedDeclaration") {
      if (node.declaration !== null && node.declaration !== undefined) declare(node.declaration as Node, true)
      for (const one of specifiers)
        exported.set(
          nameOf(one.exported),
          node.source === null || node.source === undefined
            ? nameOf(one.local)
            : { file: sourceOf(file, nameOf(node.source)), name: nameOf(one.local) }
        )
    } else declare(node, false)
  }
  return { declared, imported, exported, all }
}

/** What a name stands for: a declaration of ours, a whole file of ours, or something of another package. */
type Found = Declared | { readonly whole: string } | undefined

class Declarations {
  private readonly modules = new Map<string, Module>()

  module(file: string): Module {
    let found = this.modules.get(file)
    if (found === undefined) {
      found = readModule(existsSync(file) ? file : file.replace(/\.d\.ts$/, "/index.d.ts"))
      this.modules.set(file, found)
    }
    return found
  }

  /** A name as it is known inside a file. */
  local(file: string, name: string): Found {
    const module = this.module(file)
    const declared = module.declared.get(name)
    if (declared !== undefined) return declared
    const source = module.imported.get(name)
    return source === undefined ? undefined : this.follow(source)
  }

  private follow({ file, name }: Source): Found {
    if (file === undefined) return undefined
    return name === "*" ? { whole: file } : this.exportOf(file, name)
  }

  private exportOf(file: string, name: string): Found {
    const { all, exported } = this.module(file)
    const source = exported.get(name)
    if (typeof source === "string") return this.local(file, source)
    if (source !== undefined) return this.follow(source)
    for (const other of all) {
      const found = this.exportOf(other, name)
      if (found !== undefined) return found
    }
    return undefined
  }

  /** What a file exports, by name. */
  exportsOf(file: string): ReadonlyMap<string, Found> {
    const { all, exported } = this.module(file)
    const names = new Map<string, Found>()
    for (const other of all) for (const [name, found] of this.exportsOf(other)) names.set(name, found)
    for (const name of exported.keys()) names.set(name, this.exportOf(file, name))
    return names
  }

  /** The declarations of ours that a declaration names. */
  behind({ file, nodes }: Declared): ReadonlyArray<Declared> {
    const others = new Set<Declared>()
    const note = (name: string, member: string | undefined) => {
      const one = this.local(file, name)
      if (one === undefined) return
      if ("texts" in one) others.add(one)
      else if (member !== undefined) {
        const inside = this.exportOf(one.whole, member)
        if (inside !== undefined && "texts" in inside) others.add(inside)
      }
    }
    const visit = (value: unknown): void => {
      if (Array.isArray(value)) for (const one of value) visit(one)
      if (typeof value !== "object" || value === null || Array.isArray(value)) return
      const node = value as Node
      const left = node.type === "TSQualifiedName" ? (node.left as Node) : undefined
      if (left?.type === "Identifier") {
        note(nameOf(left), nameOf(node.right))
        return
      }
      if (node.type === "TSImportType") {
        const source = sourceOf(file, nameOf(node.source))
        const found = source === undefined ? undefined : this.exportOf(source, firstName(node.qualifier))
        if (found !== undefined && "texts" in found) others.add(found)
        visit(node.typeArguments)
        return
      }
      if (node.type === "Identifier") note(nameOf(node), undefined)
      for (const [property, child] of Object.entries(node)) {
        const isName = (property === "key" || property === "property") && node.computed !== true
        if (!isName) visit(child)
      }
    }
    for (const node of nodes) visit(node)
    return [...others]
  }
}

/** The exports of package.json that have types. */
export const entriesOf = (manifest: {
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>
}): ReadonlyArray<readonly [name: string, types: string]> =>
  Object.entries(manifest.exports).flatMap(([name, target]) =>
    typeof target === "string" ? [] : [[name.replace(/^\./, "sluice"), target.types.replace("./dist/", "")] as const]
  )

/** Entries whose types are the API's, which openapi.json says: what is behind them is left out. */
const shallow: ReadonlySet<string> = new Set(["sluice/client", "sluice/server"])

/** The file of an entry's report. */
export const reportOf = (entry: string): string => `${entry.replace(/^sluice\//, "").replaceAll("/", "-")}.txt`

const byName = ([one]: readonly [string, ...unknown[]], [other]: readonly [string, ...unknown[]]): number =>
  one < other ? -1 : one > other ? 1 : 0

/** What an entry shows, and what is behind it. */
class EntryReport {
  readonly lines: Array<string>
  private readonly entry: string
  private readonly declarations: Declarations
  /** The place of each declaration that was shown, over all entries. */
  private readonly shown: Map<Declared, string>
  private readonly queue: Array<Declared> = []

  constructor(entry: string, declarations: Declarations, shown: Map<Declared, string>) {
    this.entry = entry
    this.declarations = declarations
    this.shown = shown
    this.lines = [
      `The public types of ${entry}, written by \`npm run api\` from the declarations of the build. A test compares them; do not edit this file.`,
      ""
    ]
  }

  show(name: string, found: Found, indent = "", files: ReadonlyArray<string> = []): void {
    const { declarations, lines, shown } = this
    if (found === undefined) lines.push(`${indent}${name} (of another package)`)
    else if ("whole" in found) {
      lines.push(`${indent}namespace ${name}`)
      if (files.includes(found.whole)) return
      for (const [inner, one] of [...declarations.exportsOf(found.whole)].sort(byName))
        this.show(inner, one, `${indent}  `, [...files, found.whole])
    } else {
      const place = shown.get(found)
      if (place !== undefined) return void lines.push(`${indent}${name} (see ${place})`)
      shown.set(found, `${name} of ${this.entry}`)
      if (!shallow.has(this.entry)) this.queue.push(found)
      const alias = found.name === name ? "" : ` (as ${name})`
      for (const text of found.texts) lines.push(`${indent}${text.replaceAll("\n", `\n${indent}`)}${alias}`)
      this.showBase(found, indent)
    }
  }

  /** Shows the constant that the compiler makes for what a class extends: it has no name in the source. */
  private showBase(declared: Declared, indent: string): void {
    const base = this.declarations.behind(declared).find(({ name }) => name === `${declared.name}_base`)
    if (base === undefined || this.shown.has(base)) return
    this.shown.set(base, declared.name)
    if (!shallow.has(this.entry)) this.queue.push(base)
    for (const text of base.texts) this.lines.push(`${indent}${text.replaceAll("\n", `\n${indent}`)}`)
  }

  /** Shows what is behind the entry's names. Call it when every entry has shown its own. */
  showBehind(folder: string): void {
    const { declarations, lines, queue, shown } = this
    const behind: Array<Declared> = []
    for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
      for (const other of declarations.behind(one)) {
        if (shown.has(other)) continue
        shown.set(other, `${other.name} behind ${this.entry}`)
        queue.push(other)
        behind.push(other)
      }
    }
    if (behind.length === 0) return
    lines.push("", "# Behind them: types that these name and that no entry exports", "")
    const placed = behind.map((one) => ({ one, file: relative(folder, one.file) }))
    placed.sort((a, b) => (a.file === b.file ? byName([a.one.name], [b.one.name]) : a.file < b.file ? -1 : 1))
    let last = ""
    for (const { file, one } of placed) {
      if (file !== last) lines.push(`## ${file}`)
      last = file
      lines.push(...one.texts)
    }
  }
}

/** Makes the reports of the declarations in a folder, one for each entry, by the names of their files. */
export const apiReports = (folder: string, entries: ReturnType<typeof entriesOf>): ReadonlyMap<string, string> => {
  const declarations = new Declarations()
  const shown = new Map<Declared, string>()
  const reports = entries.map(([name, types]) => {
    const report = new EntryReport(name, declarations, shown)
    for (const [inner, found] of [...declarations.exportsOf(join(folder, types))].sort(byName))
      report.show(inner, found)
    return [name, report] as const
  })
  for (const [, report] of reports) report.showBehind(folder)
  return new Map(reports.map(([name, { lines }]) => [reportOf(name), `${lines.join("\n")}\n`]))
}
