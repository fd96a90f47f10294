/**
 * Refuses names in a request that the API does not know (docs/platform.md, 1.6), because a misspelt name would
 * otherwise be ignored silently. Suggests the known name that was most likely meant. Pure.
 */
import type { SchemaAST, SchemaIssue } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { quote } from "./parameters.ts"

/** The edit distance up to which a known name counts as near. */
const maximumDistance = 2

/** Most known names that are listed when none is near. */
const listedNames = 16

const plain = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, "")

/** Levenshtein's distance, row by row. */
const distance = (one: string, other: string): number => {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (let i = 1; i <= one.length; i++) {
    const next = [i]
    for (let j = 1; j <= other.length; j++) {
      const changed = row[j - 1]! + (one[i - 1] === other[j - 1] ? 0 : 1)
      next.push(Math.min(changed, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[other.length]!
}

/** The known name nearest to the given one; undefined when none is near. */
export const nearestName = (given: string, known: ReadonlyArray<string>): string | undefined => {
  const wanted = plain(given)
  // A text far longer than any name is not near one, and must cost no time.
  if (wanted.length > 64) return undefined
  let best: string | undefined
  let least = Math.min(maximumDistance, Math.ceil(wanted.length / 3)) + 1
  for (const name of known) {
    const far = distance(wanted, plain(name))
    if (far < least) {
      best = name
      least = far
    }
  }
  return best
}

const sentence = (what: "parameter" | "field", given: string, known: ReadonlyArray<string>): string => {
  const near = nearestName(given, known)
  const advice =
    near !== undefined
      ? ` Did you mean '${near}'?`
      : known.length === 0
        ? ` There is no ${what} here.`
        : known.length <= listedNames
          ? ` Known: ${known.join(", ")}.`
          : ""
  return `Unknown ${what} ${quote(given)}.${advice}`
}

interface Names {
  readonly query: ReadonlyArray<string>
  /** Given in the path, which wins over the query. */
  readonly path: ReadonlyArray<string>
}

const parameters = new WeakMap<HttpApiEndpoint.Top, Names>()

/** The names of a struct's fields. */
const namesOf = (ast: SchemaAST.AST): ReadonlyArray<string> =>
  ast._tag === "Objects" ? ast.propertySignatures.map(({ name }) => String(name)) : []

const parametersOf = (endpoint: HttpApiEndpoint.Top): Names => {
  const before = parameters.get(endpoint)
  if (before !== undefined) return before
  const { params, query } = endpoint
  const known = {
    query: query === undefined ? [] : namesOf(query.ast),
    path: params === undefined ? [] : namesOf(params.ast)
  }
  parameters.set(endpoint, known)
  return known
}

/**
 * The error for a query's parameter names; undefined when all are known. `also` are names that every endpoint accepts.
 */
export const unknownParameter = (
  given: Iterable<string>,
  endpoint: HttpApiEndpoint.Top,
  also: ReadonlyArray<string> = []
): string | undefined => {
  const known = parametersOf(endpoint)
  for (const name of given) {
    if (known.query.includes(name) || known.path.includes(name) || also.includes(name)) continue
    return sentence("parameter", name, known.query)
  }
  return undefined
}

interface Found {
  readonly name: string
  readonly known: ReadonlyArray<string>
}

/** The first key of an issue that its schema does not know, at any depth. */
const unexpectedIn = (issue: SchemaIssue.Issue, path: ReadonlyArray<PropertyKey>): Found | undefined => {
  switch (issue._tag) {
    case "UnexpectedKey": {
      return {
        name: path.map(String).join("."),
        known: namesOf(issue.ast).map((name) => [...path.slice(0, -1), name].map(String).join("."))
      }
    }
    case "Pointer":
      return unexpectedIn(issue.issue, [...path, ...issue.path])
    case "Composite":
    case "AnyOf":
      for (const inner of issue.issues) {
        const found = unexpectedIn(inner, path)
        if (found !== undefined) return found
      }
      return undefined
    case "Encoding":
    case "Filter":
      return unexpectedIn(issue.issue, path)
    default:
      return undefined
  }
}

/** The error for an unknown field of a body; undefined when the issue is another one. */
export const unknownField = (issue: SchemaIssue.Issue): string | undefined => {
  const found = unexpectedIn(issue, [])
  return found === undefined ? undefined : sentence("field", found.name, found.known)
}
