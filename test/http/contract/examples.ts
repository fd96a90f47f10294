/** The example of every body in the description is a request that the platform accepts. */
import { expect, it } from "vitest"
import { exampleMillis } from "../../../src/api/examples/OperationExamples.ts"
import { type Endpoint, endpoints } from "./endpoints.ts"
import { givenFor } from "./given.ts"
import type { Account, World } from "./world.ts"

/** Times of examples, moved to where the platform takes them; and the one credential that no example can have. */
const presently: Readonly<Record<string, (example: object, account: Account) => object>> = {
  "PATCH /v1/send/emails/{id}": (example) => ({
    ...example,
    scheduled_at: new Date(Date.now() + 3_600_000).toISOString()
  }),
  "POST /v1/webhooks/{id}/replay": (example) => {
    expect(example).toMatchObject({ since: exampleMillis })
    return { ...example, since: Date.now() - 1_000 }
  },
  "POST /v1/console/sessions": (example, { key }) => ({ ...example, key })
}

/** Members ask it, who have no key (test/platform/people/members.it.ts). */
const ofMembers = "POST /v1/console/session/organization"

/** As many accounts as examples would be slow; only these change what others need. */
const changing = /cancel|sessions|unpause|rotate/

export const examplesSection = (world: () => World): void => {
  const cases = endpoints.filter(({ body, isAdmin, name }) => body !== undefined && !isAdmin && name !== ofMembers)
  let shared: Promise<Account> | undefined
  const made = async () => {
    const account = await world().account()
    await account.make("POST", "/v1/send/domains", { name: "acme.example" })
    return account
  }
  it.each(
    cases.map((endpoint): readonly [string, Endpoint] => [endpoint.name, endpoint])
  )("of %s is accepted as it stands", async (name, endpoint) => {
    shared ??= made()
    const account = await (changing.test(name) ? made() : shared)
    const { status: _, ...given } = await givenFor(endpoint, account, world())
    const example = endpoint.example as object
    const body = presently[name]?.(example, account) ?? example
    const answer = await account.ask(endpoint, { ...given, body })
    expect([answer.status, answer.body], answer.asked).toEqual([endpoint.success, answer.body])
  })
}
