/**
 * Writes the surfaces of the clients from `openapi.json`: TypeScript by @hey-api/openapi-ts, Python and Go by the few
 * lines below, a method for each operation.
 *
 *     node clients/generate.ts [folder]     folder: instead of clients
 */
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

interface Operation {
  readonly operationId: string
  readonly summary?: string
  readonly requestBody?: { readonly required?: boolean }
  readonly parameters?: ReadonlyArray<{ readonly name: string; readonly in: string }>
}

const root = fileURLToPath(new URL("..", import.meta.url))
const folder = process.argv[2] ?? join(root, "clients")
const description = join(root, "openapi.json")

const { info, paths } = JSON.parse(readFileSync(description, "utf8")) as {
  readonly info: { readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

/** Streams and sessions of browsers are not for requests and answers. */
const without = new Set(["events.stream", "console.open", "console.get", "console.close"])

interface Method {
  readonly id: string
  readonly summary: string
  readonly method: string
  readonly path: string
  readonly places: ReadonlyArray<string>
  readonly body: boolean
}

const methods: ReadonlyArray<Method> = Object.entries(paths).flatMap(([path, operations]) =>
  Object.entries(operations)
    .filter(([, { operationId }]) => !without.has(operationId))
    .map(([method, { operationId, parameters = [], requestBody, summary }]) => ({
      id: operationId,
      summary: summary ?? operationId,
      method: method.toUpperCase(),
      path,
      places: parameters.filter((one) => one.in === "path").map(({ name }) => name),
      body: requestBody !== undefined
    }))
)

const note = "Written by clients/generate.ts from openapi.json. Do not edit."

const snake = (text: string): string =>
  text.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replaceAll(".", "_")

const pythonMethod = ({ body, id, method, path, places, summary }: Method): string => {
  const names = places.map(snake)
  const given = [...names.map((name) => `${name}: str`), ...(body ? ["body: Any = None"] : []), "**query: Any"]
  const filled = places.reduce((text, place) => text.replace(`{${place}}`, `{_part(${snake(place)})}`), path)
  const call = [`"${method}"`, places.length === 0 ? `"${path}"` : `f"${filled}"`, "query", body ? "body" : "None"]
  return `    def ${snake(id)}(self, ${given.join(", ")}) -> Any:
        """${summary}."""
        return self.request(${call.join(", ")})
`
}

const python = `"""${note}"""
from typing import Any
from urllib.parse import quote


def _part(text: str) -> str:
    return quote(text, safe="")


class Operations:
    """One method for each operation. A query's parameters are keyword arguments."""

    def request(self, method: str, path: str, query: Any, body: Any) -> Any:
        raise NotImplementedError

${methods.map(pythonMethod).join("\n")}`

const pascal = (text: string): string =>
  text
    .split(".")
    .map((word) => `${word[0]!.toUpperCase()}${word.slice(1)}`)
    .join("")

const goMethod = ({ body, id, method, path, places, summary }: Method): string => {
  const given = [
    "ctx context.Context",
    ...places.map((place) => `${place} string`),
    "query Query",
    ...(body ? ["body any"] : []),
    "into any"
  ]
  const parts = path
    .split(/\{(\w+)\}/)
    .map((part, index) => (index % 2 === 1 ? `url.PathEscape(${part})` : `"${part}"`))
  const target = parts.filter((part) => part !== '""').join("+")
  return `// ${pascal(id)}: ${summary}.
func (c *Client) ${pascal(id)}(${given.join(", ")}) error {
	return c.Request(ctx, "${method}", ${target}, query, ${body ? "body" : "nil"}, into)
}
`
}

const go = `// ${note}

package sluice

import (
	"context"
	"net/url"
)

${methods.map(goMethod).join("\n")}`

const generateTypeScript = () => {
  const work = mkdtempSync(join(tmpdir(), "sluice-generate-"))
  try {
    const config = {
      input: description,
      output: { path: join(folder, "typescript/generated"), module: { extension: ".ts" } },
      plugins: ["@hey-api/typescript", "@hey-api/sdk", "@hey-api/client-fetch"],
      logs: { level: "silent" }
    }
    const file = join(work, "openapi-ts.config.mjs")
    writeFileSync(file, `export default ${JSON.stringify(config)}\n`)
    execFileSync(process.execPath, [join(root, ".toolchain/node_modules/.bin/openapi-ts"), "--file", file], {
      cwd: work,
      stdio: ["ignore", "ignore", "inherit"]
    })
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

for (const [file, text] of [
  ["python/sluice/operations.py", python],
  ["python/sluice/version.py", `"""${note}"""\n\nversion = "${info.version}"\n`],
  ["go/operations.go", go],
  [
    "go/version.go",
    `// ${note}\n\npackage sluice\n\n// Version is that of the platform whose API this client speaks.\nconst Version = "${info.version}"\n`
  ]
] as const) {
  const path = join(folder, file)
  mkdirSync(join(path, ".."), { recursive: true })
  writeFileSync(path, text)
}
generateTypeScript()
