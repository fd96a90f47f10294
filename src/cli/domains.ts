/**
 * Implements `sluice domains verify <domain> --org ID [--unchecked]`, which verifies a domain by its records or on the
 * operator's word, and `sluice domains show` (docs/platform.md, 9.13). Both say what its records lack.
 */
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AdminClient } from "../admin/AdminClient.ts"
import { modes } from "../send/index.ts"
import { withAdmin } from "./admin.ts"
import { json, settingFlags } from "./flags.ts"
import { printJson } from "./output.ts"

interface DomainShown {
  readonly name: string
  readonly status: string
  readonly proof: string | null
  readonly lacks: ReadonlyArray<{ readonly record: string; readonly name: string; readonly value: string }>
  readonly authentication: ReadonlyArray<{
    readonly record: string
    readonly status: string
    readonly message: string
    readonly advised: string | null
  }>
}

/** The domain, its missing records, and a sentence each about SPF and DMARC with the text to set. */
const linesOf = ({ authentication, lacks, name, proof, status }: DomainShown): ReadonlyArray<string> => [
  `${name} is ${status}${proof === "unchecked" ? ", unchecked" : ""}`,
  ...(proof === "unchecked" || proof === "test"
    ? []
    : lacks.map((one) => `${one.record}: set ${one.name} TXT ${one.value}`)),
  ...authentication.flatMap(({ advised, message, record, status: of }) => [
    `${record}: ${of}. ${message}`,
    ...(advised === null || message.includes(advised) ? [] : [`  set ${advised}`])
  ])
]

const common = {
  domain: Argument.String("domain").pipe(Argument.withDescription("A domain that the organization has added")),
  org: Flag.String("org").pipe(Flag.withDescription("Id of the organization")),
  mode: Flag.Literals("mode", modes).pipe(
    Flag.withDescription("Whether it is of the live keys or of the test keys"),
    Flag.withDefault("live" as const)
  ),
  json,
  dataDir: settingFlags.dataDir
}

const verify = Command.make(
  "verify",
  {
    ...common,
    unchecked: Flag.Boolean("unchecked").pipe(
      Flag.withDescription("Let it count as verified whatever its records say; recorded as such"),
      Flag.withDefault(false)
    )
  },
  (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        const payload = { mode: flags.mode, domain: flags.domain, unchecked: flags.unchecked }
        const shown = yield* client.send.verifyDomain({ params: { id: flags.org }, payload })
        if (flags.json) return yield* printJson(shown)
        yield* Console.log(linesOf(shown).join("\n"))
      })
    )
).pipe(Command.withDescription("Verify a domain by its records, or unchecked"))

const show = Command.make("show", common, (flags) =>
  withAdmin(
    flags,
    Effect.gen(function* () {
      const client = yield* AdminClient
      const params = { id: flags.org, domain: flags.domain }
      const shown = yield* client.send.showDomain({ params, query: { mode: flags.mode } })
      if (flags.json) return yield* printJson(shown)
      yield* Console.log(linesOf(shown).join("\n"))
    })
  )
).pipe(Command.withDescription("Show a domain, and what its records lack"))

export const domains = Command.make("domains").pipe(
  Command.withDescription("Verify and show domains of senders"),
  Command.withSubcommands([verify, show])
)
