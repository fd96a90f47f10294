/**
 * The public API in this process on a database of its own, for tests of sending: its name server is one on loopback, and each tenant has a live and a test key. Its clock is
 * the machine's.
 */
import { Context, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import * as Engine from "../../../src/engine/Engine.ts"
import { ApiKeys } from "../../../src/platform/ApiKeys.ts"
import type { Service } from "../../../src/platform/model.ts"
import { Organizations } from "../../../src/platform/Organizations.ts"
import type { FeedbackIntake } from "../../../src/send/feedback/intake/FeedbackIntake.ts"
import { type Mode, SendAccount } from "../../../src/send/index.ts"
import type { VerificationLink } from "../../../src/send/senders/addresses/VerificationMail.ts"
import type { DomainChecks } from "../../../src/send/senders/domains/DomainChecks.ts"
import type { Domains } from "../../../src/send/senders/domains/Domains.ts"
import type { ReportIntake } from "../../../src/send/senders/reports/ReportIntake.ts"
import { type Ask, askAt } from "../../support/api.ts"
import type { NameServer } from "../../support/nameServer.ts"
import { type SharedApi, useSharedApi } from "../../support/sharedApi.ts"

export interface Tenant {
  readonly organization: string
  readonly live: Ask
  readonly test: Ask
  /** The keys' texts. */
  readonly keys: Readonly<Record<Mode, string>>
  readonly askAs: (mode: Mode, services: ReadonlyArray<Service>) => Promise<Ask>
  /** What admission says of an email from an address: its state, or the code of the rejection. */
  readonly admitted: (mode: Mode, from: string, to?: string) => Promise<string>
}

type Needed = Domains | DomainChecks | ReportIntake | FeedbackIntake | SqlClient.SqlClient | Engine.Engine

export interface SendPlatform {
  readonly url: string
  readonly names: NameServer
  /** What was mailed to addresses that are to become senders. */
  readonly mails: ReadonlyArray<VerificationLink>
  readonly run: <A, E>(effect: Effect.Effect<A, E, Needed>) => Promise<A>
  readonly tenant: () => Promise<Tenant>
}

const platformOf = ({ mails, names, services, url }: SharedApi): SendPlatform => {
  const run: SendPlatform["run"] = (effect) => Effect.runPromise(Effect.provideContext(effect, services))
  const keyOf = async (organization: string, mode: Mode, services_: ReadonlyArray<Service>) => {
    const made = { name: null, mode, services: services_, scopes: [], expiresAtMillis: null }
    return (await run(Context.get(services, ApiKeys).create(organization, made))).key!
  }
  let emails = 0
  return {
    url,
    names,
    mails,
    run,
    tenant: async () => {
      const { organization } = await run(
        Context.get(services, Organizations).create({
          name: "Acme",
          email: null,
          plan: "team",
          sendPlan: "hobby",
          risk: "standard"
        })
      )
      const keys = {
        live: await keyOf(organization.id, "live", ["send"]),
        test: await keyOf(organization.id, "test", ["send"])
      }
      return {
        organization: organization.id,
        keys,
        live: askAt(url, keys.live),
        test: askAt(url, keys.test),
        askAs: async (mode, allowed) => askAt(url, await keyOf(organization.id, mode, allowed)),
        admitted: async (mode, from, to = "bob@recipient.example") => {
          const email = { id: `${organization.id}-${++emails}`, from, recipients: [to] }
          const asked = Context.get(services, Engine.Engine).ask(
            SendAccount,
            { organization: organization.id, key: mode },
            { _tag: "Admit", emails: [email], upgradeUrl: "https://example.com/plans" }
          )
          return run(
            Effect.match(asked, {
              onSuccess: (reply) => reply.emails[0]!.state,
              onFailure: (error) => ("code" in error ? error.code : String(error))
            })
          )
        }
      }
    }
  }
}

/** The worker's API for the tests of the file; to be asked for inside tests and hooks only. */
export const useSendPlatform = (): (() => SendPlatform) => useSharedApi(platformOf)
