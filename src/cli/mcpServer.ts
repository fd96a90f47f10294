/**
 * Serves the public API of a platform as tools over stdio (Model Context Protocol). It is a module of its own, so that no
 * other command loads the protocol's library.
 */
import { randomUUID } from "node:crypto"
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { version } from "../common/version.ts"
import { type Description, mcpTools, type Tool } from "./mcpTools.ts"

export interface McpOptions {
  /** The platform's address. */
  readonly url: string
  readonly apiKey: string
  readonly allowsWrite: boolean
}

const timeoutMillis = 60_000

/** Largest answer that a tool returns as text; a model could not read more. */
const maximumTextBytes = 256 * 1024

/** Largest description and audio. */
const maximumBytes = 64 * 1024 * 1024

type Arguments = Readonly<Record<string, unknown>>

const bytesOf = async (response: Response, most: number): Promise<Buffer> => {
  const chunks: Array<Uint8Array> = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > most) throw new Error(`The platform's answer is larger than ${most} bytes; ask for a smaller page`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Asks for what a tool is for. */
const ask = async (
  { apiKey, url }: McpOptions,
  tool: Tool,
  given: Arguments,
  signal: AbortSignal
): Promise<Response> => {
  const path = tool.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(given[name] ?? "")))
  const query = new URLSearchParams()
  for (const name of tool.inQuery) if (given[name] !== undefined) query.set(name, String(given[name]))
  const target = `${url}${path}${query.size === 0 ? "" : `?${query}`}`
  return fetch(target, {
    method: tool.method,
    headers: {
      authorization: `Bearer ${apiKey}`,
      "user-agent": `sluice-mcp/${version}`,
      ...(given.body === undefined ? {} : { "content-type": "application/json" }),
      ...(tool.method === "POST" ? { "idempotency-key": randomUUID() } : {})
    },
    redirect: "error",
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMillis)]),
    ...(given.body === undefined ? {} : { body: JSON.stringify(given.body) })
  })
}

const text = (words: string, isError: boolean) => ({ content: [{ type: "text" as const, text: words }], isError })

const call = async (options: McpOptions, tool: Tool, given: Arguments, signal: AbortSignal) => {
  const missing = tool.inPath.filter((name) => typeof given[name] !== "string" || given[name] === "")
  if (missing.length > 0) return text(`These arguments are missing: ${missing.join(", ")}`, true)
  try {
    const response = await ask(options, tool, given, signal)
    const type = response.headers.get("content-type") ?? ""
    if (type.startsWith("audio/")) {
      const audio = await bytesOf(response, maximumBytes)
      return { content: [{ type: "audio" as const, data: audio.toString("base64"), mimeType: type }], isError: false }
    }
    return text((await bytesOf(response, maximumTextBytes)).toString("utf8"), !response.ok)
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : ""
    return text(`The platform does not answer (${error instanceof Error ? error.message : error}${cause})`, true)
  }
}

const describedBy = async (url: string): Promise<Description> => {
  const response = await fetch(`${url}/openapi.json`, { signal: AbortSignal.timeout(timeoutMillis) })
  if (!response.ok) throw new Error(`${url}/openapi.json answers ${response.status}`)
  return JSON.parse((await bytesOf(response, maximumBytes)).toString("utf8")) as Description
}

/** Serves until the client closes the input, or the signal is aborted. Rejects where there is no platform at the address. */
export const serveMcp = async (options: McpOptions, signal: AbortSignal): Promise<void> => {
  const tools = mcpTools(await describedBy(options.url), options.allowsWrite)
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const server = new Server({ name: "sluice", version }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: tools.map(({ description, inputSchema, isDestructive, isWrite, name }) => ({
      name,
      description,
      inputSchema: inputSchema as { type: "object" },
      annotations: { readOnlyHint: !isWrite, destructiveHint: isDestructive }
    }))
  }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => {
    const tool = byName.get(params.name)
    return tool === undefined
      ? text(
          `There is no tool ${params.name}${options.allowsWrite ? "" : "; tools that write need --allow-write"}`,
          true
        )
      : call(options, tool, params.arguments ?? {}, extra.signal)
  })
  const closed = new Promise<void>((resolve) => {
    server.onclose = () => resolve()
    process.stdin.once("end", resolve)
    signal.addEventListener("abort", () => resolve(), { once: true })
  })
  // The transport's optional fields may be undefined, which its interface does not say.
  await server.connect(new StdioServerTransport() as Transport)
  await closed
  await server.close()
}
