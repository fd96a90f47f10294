/** Writes a request as a program for curl, Node and Python. The key stays in the reader's environment. Pure. */
import type { Operation, Parameter } from "./description.ts"

export interface Filled {
  /** The address that browsers reach the server at. */
  readonly base: string
  readonly path: string
  readonly body: string
}

/** An example of a parameter: its own, or one that its place and name suggest. */
export const exampleOf = ({ example, in: place, name, schema }: Parameter): string => {
  const given = example ?? schema?.examples?.[0] ?? schema?.enum?.[0]
  if (given !== undefined) return String(given)
  return place === "path" ? `{${name}}` : ""
}

/** The path with its parameters, and those of the query that have a value. */
export const pathOf = ({ parameters, path }: Operation, values: Readonly<Record<string, string>>): string => {
  const filled = path.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[`path ${name}`] ?? ""
    return value === "" || value === whole ? whole : encodeURIComponent(value)
  })
  const query = new URLSearchParams()
  for (const { in: place, name } of parameters) {
    const value = values[`query ${name}`] ?? ""
    if (place === "query" && value !== "") query.append(name, value)
  }
  const text = query.toString()
  return text === "" ? filled : `${filled}?${text}`
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const curl = ({ method, needsKey }: Operation, { base, body, path }: Filled): string =>
  [
    `curl ${method === "GET" ? "" : `-X ${method} `}${quoted(base + path)}`,
    ...(needsKey ? [`-H "Authorization: Bearer $SLUICE_API_KEY"`] : []),
    ...(body === "" ? [] : ["-H 'Content-Type: application/json'", `-d ${quoted(body)}`])
  ].join(" \\\n  ")

const node = ({ method, needsKey }: Operation, { base, body, path }: Filled): string => {
  const headers = [
    ...(needsKey ? ['    Authorization: "Bearer " + process.env.SLUICE_API_KEY'] : []),
    ...(body === "" ? [] : [`    "Content-Type": "application/json"`])
  ]
  return [
    `const response = await fetch(${JSON.stringify(base + path)}, {`,
    `  method: "${method}"${headers.length === 0 ? "" : ","}`,
    ...(headers.length === 0 ? [] : ["  headers: {", headers.join(",\n"), body === "" ? "  }" : "  },"]),
    ...(body === "" ? [] : [`  body: JSON.stringify(${body.replaceAll("\n", "\n  ")})`]),
    "})",
    "console.log(response.status, await response.text())"
  ].join("\n")
}

/** JSON as a text of Python. */
const python = ({ method, needsKey }: Operation, { base, body, path }: Filled): string =>
  [
    "import os",
    "import urllib.request",
    "",
    `request = urllib.request.Request(${JSON.stringify(base + path)}, method="${method}")`,
    ...(needsKey ? [`request.add_header("Authorization", f"Bearer {os.environ['SLUICE_API_KEY']}")`] : []),
    ...(body === ""
      ? []
      : [`request.add_header("Content-Type", "application/json")`, `request.data = ${JSON.stringify(body)}.encode()`]),
    "with urllib.request.urlopen(request) as response:",
    "    print(response.status, response.read().decode())"
  ].join("\n")

export const samplesOf = (
  operation: Operation,
  filled: Filled
): ReadonlyArray<readonly [language: string, text: string]> => [
  ["curl", curl(operation, filled)],
  ["Node", node(operation, filled)],
  ["Python", python(operation, filled)]
]
