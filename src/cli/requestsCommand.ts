/** Implements `sluice requests list | show`: requests of an organization's keys (docs/platform.md, 2.12). */
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AdminClient } from "../admin/AdminClient.ts"
import { withAdmin } from "./admin.ts"
import { json, settingFlags } from "./flags.ts"
import { hours, limit, newest, parameter, sinceOf } from "./logFlags.ts"
import { printJson, printTable, shownTime } from "./output.ts"

const common = {
  org: Flag.String("org").pipe(Flag.withDescription("The organization whose keys asked")),
  json,
  dataDir: settingFlags.dataDir
}

const list = Command.make(
  "list",
  {
    method: Flag.Literals("method", ["GET", "POST", "PUT", "PATCH", "DELETE"]).pipe(
      Flag.withDescription("Requests of this method alone"),
      Flag.optional
    ),
    status: Flag.String("status").pipe(
      Flag.withDescription("Requests answered by this status alone, such as 422, or by a class, such as 4xx"),
      Flag.optional
    ),
    path: Flag.String("path").pipe(
      Flag.withDescription(
        "Requests of this path alone: an endpoint's, such as /v1/send/emails/{id}, or one with an id"
      ),
      Flag.optional
    ),
    key: Flag.String("key").pipe(Flag.withDescription("Requests of this key alone"), Flag.optional),
    requestId: Flag.String("request-id").pipe(
      Flag.withDescription("Requests with this X-Request-Id alone"),
      Flag.optional
    ),
    hours,
    limit,
    ...common
  },
  (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        const filter = {
          ...parameter("method", flags.method),
          ...parameter("status", flags.status),
          ...parameter("path", flags.path),
          ...parameter("key", flags.key),
          ...parameter("requestId", flags.requestId),
          ...(yield* sinceOf(flags.hours))
        }
        const requests = yield* newest(flags.limit, (page) =>
          client.organizations.requests({ params: { id: flags.org }, query: { ...filter, ...page } })
        )
        yield* flags.json
          ? printJson(requests)
          : printTable(
              ["ID", "AT", "METHOD", "PATH", "STATUS", "CODE", "MS", "KEY"],
              requests.map((one) => [
                one.id,
                shownTime(one.at),
                one.method,
                one.path,
                String(one.status),
                one.code ?? "-",
                String(one.durationMillis),
                one.keyId
              ]),
              Object.keys(filter).length === 0 ? "No request of the last seven days." : "No such request."
            )
      })
    )
).pipe(Command.withDescription("List the requests of an organization's keys, newest first, of the last seven days"))

const show = Command.make(
  "show",
  { id: Argument.String("id").pipe(Argument.withDescription("Id of the request, rq_…")), ...common },
  (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        const request = yield* client.organizations.request({ params: { id: flags.org, recordId: flags.id } })
        if (flags.json) return yield* printJson(request)
        const rows: ReadonlyArray<readonly [string, string]> = [
          ["id", request.id],
          ["at", shownTime(request.at)],
          ["request", `${request.method} ${request.path}`],
          ["endpoint", request.route],
          ["status", `${request.status}${request.code === null ? "" : ` ${request.code}`}`],
          ["took", `${request.durationMillis} ms`],
          ["key", `${request.keyId} (${request.mode})`],
          ["from", request.address ?? "-"],
          ["request id", request.requestId],
          ...(request.requestBody === null ? [] : ([["body", request.requestBody]] as const)),
          ...(request.answerBody === null ? [] : ([["answer", request.answerBody]] as const)),
          ...(request.facts === null ? [] : ([["decided by", JSON.stringify(request.facts)]] as const))
        ]
        yield* Console.log(rows.map(([field, value]) => `${field.padEnd(12)}${value}`).join("\n"))
      })
    )
).pipe(Command.withDescription("Show one request, a failed one with its bodies in their shape"))

export const requestsCommand = Command.make("requests").pipe(
  Command.withDescription("Look at the requests of an organization's keys"),
  Command.withSubcommands([list, show])
)
