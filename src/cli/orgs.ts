/** Implements `sluice orgs create | list | show | set-plan | set-limits | delete` (docs/platform.md, 2.1 and 2.9). */
import { Console, Data, Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AdminClient } from "../admin/AdminClient.ts"
import { type Organization, platformPlans, risks, sendPlans } from "../platform/model.ts"
import { everyPage, withAdmin } from "./admin.ts"
import { json, settingFlags } from "./flags.ts"
import { printJson, printTable, shownTime } from "./output.ts"

const dataDir = { dataDir: settingFlags.dataDir }

const show = (organization: Organization) =>
  [
    ["id", organization.id],
    ["name", organization.name],
    ["email", organization.email ?? "-"],
    ["plan", organization.plan],
    ["send plan", organization.sendPlan],
    ["rate", organization.requestsPerMinute === null ? "the plan's" : `${organization.requestsPerMinute} requests/min`],
    ["risk", organization.risk],
    ["created", shownTime(organization.createdAt)]
  ]
    .map(([field, value]) => `${field!.padEnd(10)}${value}`)
    .join("\n")

const create = Command.make(
  "create",
  {
    name: Argument.String("name").pipe(Argument.withDescription("Name of the organization")),
    email: Flag.String("email").pipe(Flag.withDescription("Contact for notifications"), Flag.optional),
    plan: Flag.Literals("plan", platformPlans).pipe(
      Flag.withDescription("Platform plan, sets the request rate"),
      Flag.withDefault("free" as const)
    ),
    sendPlan: Flag.Literals("send-plan", sendPlans).pipe(
      Flag.withDescription("Send plan, sets the email limits"),
      Flag.withDefault("hobby" as const)
    ),
    risk: Flag.Literals("risk", risks).pipe(
      Flag.withDescription(
        "Risk at sign-up; higher has tighter probation caps, and so has an address that speaks for it"
      ),
      Flag.withDefault("standard" as const)
    ),
    json,
    ...dataDir
  },
  (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        const { body: organization } = yield* client.organizations.create({
          headers: {},
          payload: {
            name: flags.name,
            email: Option.getOrNull(flags.email),
            plan: flags.plan,
            sendPlan: flags.sendPlan,
            risk: flags.risk
          }
        })
        yield* flags.json ? printJson({ id: organization.id }) : Console.log(show(organization))
      }),
      { begins: true }
    )
).pipe(Command.withDescription("Make an organization"))

const list = Command.make("list", { json, ...dataDir }, (flags) =>
  withAdmin(
    flags,
    Effect.gen(function* () {
      const client = yield* AdminClient
      const organizations = yield* everyPage((query) => client.organizations.list({ query }))
      yield* flags.json
        ? printJson(organizations)
        : printTable(
            ["ID", "NAME", "PLAN", "SEND PLAN", "CREATED"],
            organizations.map((o) => [o.id, o.name, o.plan, o.sendPlan, shownTime(o.createdAt)]),
            "No organizations yet. Make one: sluice orgs create <name>"
          )
    })
  )
).pipe(Command.withDescription("List organizations, newest first"))

const showOne = Command.make("show", { id: Argument.String("id"), json, ...dataDir }, (flags) =>
  withAdmin(
    flags,
    Effect.gen(function* () {
      const client = yield* AdminClient
      const organization = yield* client.organizations.get({ params: { id: flags.id } })
      yield* flags.json ? printJson(organization) : Console.log(show(organization))
    })
  )
).pipe(Command.withDescription("Show one organization"))

const id = Argument.String("id").pipe(Argument.withDescription("Id of the organization"))

/** A plan cannot be set and follow the subscription. */
export class PlanAndSubscription extends Data.TaggedError("PlanAndSubscription") {
  override get message(): string {
    return "Give plans, or --from-subscription for those that are paid for: not both"
  }
}

const setPlan = Command.make(
  "set-plan",
  {
    id,
    plan: Flag.Literals("plan", platformPlans).pipe(Flag.withDescription("Platform plan"), Flag.optional),
    sendPlan: Flag.Literals("send-plan", sendPlans).pipe(Flag.withDescription("Send plan"), Flag.optional),
    fromSubscription: Flag.Boolean("from-subscription").pipe(
      Flag.withDescription("Both plans are again those that the organization pays for"),
      Flag.withDefault(false)
    ),
    json,
    ...dataDir
  },
  (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        const params = { id: flags.id }
        if (flags.fromSubscription && (Option.isSome(flags.plan) || Option.isSome(flags.sendPlan)))
          return yield* new PlanAndSubscription()
        const organization = yield* flags.fromSubscription
          ? client.organizations.followSubscription({ params })
          : client.organizations.setPlans({
              params,
              payload: {
                ...(Option.isSome(flags.plan) ? { plan: flags.plan.value } : {}),
                ...(Option.isSome(flags.sendPlan) ? { sendPlan: flags.sendPlan.value } : {})
              }
            })
        yield* flags.json ? printJson(organization) : Console.log(show(organization))
      })
    )
).pipe(Command.withDescription("Set an organization's plans; in force at its next request"))

const rate = Schema.String.check(
  Schema.isPattern(/^([1-9]\d{0,8}|unlimited|plan)$/, {
    message: "Expected a number of at least 1, unlimited or plan"
  })
)

const setLimits = Command.make(
  "set-limits",
  {
    id,
    requestsPerMinute: Flag.String("requests-per-minute").pipe(
      Flag.withSchema(rate),
      Flag.withDescription("Requests per minute; unlimited for no limit, plan for the plan's own")
    ),
    json,
    ...dataDir
  },
  (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        const text = flags.requestsPerMinute
        const organization = yield* client.organizations.setLimits({
          params: { id: flags.id },
          payload: { requestsPerMinute: text === "plan" ? null : text === "unlimited" ? text : Number(text) }
        })
        yield* flags.json ? printJson(organization) : Console.log(show(organization))
      })
    )
).pipe(Command.withDescription("Set limits in place of the plan's; in force at the next request"))

/** Nobody deletes an organization by a slip of the hand. */
class NotConfirmed extends Data.TaggedError("NotConfirmed")<{ readonly id: string; readonly name: string }> {
  override get message(): string {
    return `Deleting cannot be undone. Give the organization's name: sluice orgs delete ${this.id} --name ${JSON.stringify(this.name)}`
  }
}

/** Something hinders the rest. */
class NotErased extends Data.TaggedError("NotErased")<{ readonly id: string }> {
  override get message(): string {
    return `${this.id} is deleted, but not all of it is erased yet. Repeat the command; \`sluice parked list\` shows what may stand in the way`
  }
}

/** Requests that one command makes, each of some seconds at most. */
const deletionRequests = 100

const remove = Command.make(
  "delete",
  {
    id,
    name: Flag.String("name").pipe(Flag.withDescription("Name of the organization, to confirm it"), Flag.optional),
    yes: Flag.Boolean("yes").pipe(Flag.withDescription("Confirms it without the name"), Flag.withDefault(false)),
    json,
    ...dataDir
  },
  (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        const params = { id: flags.id }
        if (!flags.yes && Option.isNone(flags.name)) {
          const { name } = yield* client.organizations.get({ params })
          return yield* new NotConfirmed({ id: flags.id, name })
        }
        const query = Option.match(flags.name, { onNone: () => ({}), onSome: (name) => ({ name }) })
        for (let requests = 0; requests < deletionRequests; requests++) {
          const deleted = yield* client.organizations.remove({ params, query })
          if (deleted.erasedAt === null) continue
          return yield* flags.json
            ? printJson(deleted)
            : Console.log(`Deleted ${deleted.id}. What the log has of it goes when the log is purged.`)
        }
        return yield* new NotErased({ id: flags.id })
      })
    )
).pipe(Command.withDescription("Delete an organization for good, with everything that it has"))

export const orgs = Command.make("orgs").pipe(
  Command.withDescription("Make and look at organizations"),
  Command.withSubcommands([create, list, showOne, setPlan, setLimits, remove])
)
