/** Implements `sluice invoices list | pay | fail`: payments that an operator confirms (docs/platform.md, 11.6). */
import { Console, Data, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AdminClient } from "../admin/AdminClient.ts"
import { everyPage, withAdmin } from "./admin.ts"
import { json, settingFlags } from "./flags.ts"
import { printJson, printTable, shownTime } from "./output.ts"

/** The list of one organization has no filters. */
export class FilteredOrganization extends Data.TaggedError("FilteredOrganization") {
  override get message(): string {
    return "Give --org for all invoices of an organization, or --status and --month for those of everybody: not both"
  }
}

const common = { json, dataDir: settingFlags.dataDir }

const list = Command.make(
  "list",
  {
    org: Flag.String("org").pipe(Flag.withDescription("All invoices of this organization"), Flag.optional),
    status: Flag.Literals("status", ["draft", "open", "paid", "void", "uncollectible", "any"]).pipe(
      Flag.withDescription("Invoices in this state, instead of those that wait for payment; any for all"),
      Flag.optional
    ),
    month: Flag.String("month").pipe(
      Flag.withDescription("Invoices of this month of UTC alone, such as 2026-11"),
      Flag.optional
    ),
    ...common
  },
  (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        if (Option.isSome(flags.org) && (Option.isSome(flags.status) || Option.isSome(flags.month)))
          return yield* new FilteredOrganization()
        const invoices = yield* everyPage((query) =>
          Option.match(flags.org, {
            onNone: () =>
              client.invoices.all({
                query: {
                  ...query,
                  ...(Option.isSome(flags.status) ? { status: flags.status.value } : {}),
                  ...(Option.isSome(flags.month) ? { month: flags.month.value } : {})
                }
              }),
            onSome: (id) => client.invoices.list({ params: { id }, query })
          })
        )
        yield* flags.json
          ? printJson(invoices)
          : printTable(
              ["ID", "ORGANIZATION", "CUSTOMER", "FOR", "AMOUNT", "STATUS", "CREATED"],
              invoices.map((one) => [
                one.id,
                one.organizationId,
                one.customerName,
                one.description,
                `${one.amount} ${one.currency}`,
                one.status === "open" && one.failedAt !== null ? "open, failed" : one.status,
                shownTime(one.createdAt)
              ]),
              Option.isSome(flags.org)
                ? "No invoices yet."
                : Option.isSome(flags.status) || Option.isSome(flags.month)
                  ? "No such invoice."
                  : "No invoice waits for payment."
            )
      })
    )
).pipe(
  Command.withDescription("List the invoices that wait for payment, or others, amounts in the currency's minor unit")
)

const settle = (name: "pay" | "fail", said: string, description: string) =>
  Command.make(name, { id: Argument.String("id"), ...common }, (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        const settled = yield* client.invoices[name]({ params: { id: flags.id } })
        yield* flags.json ? printJson(settled) : Console.log(`${settled.id} ${said}.`)
      })
    )
  ).pipe(Command.withDescription(description))

export const invoices = Command.make("invoices").pipe(
  Command.withDescription("Look at invoices and settle them, where no service takes payments"),
  Command.withSubcommands([
    list,
    settle("pay", "is paid", "Say that an invoice was paid: the plan is in force with the next decision"),
    settle("fail", "has failed", "Say that a payment has failed: after the grace the free plans are in force")
  ])
)
