/** The accounts of a kill run, over HTTP: each with a key, a verified domain and limits of its own. What is asked here is asked again when the platform was away. */
import { adminOf, ask, makeUnlimited, type Place } from "../support/ask.ts"

/** The most that an account on probation may be given: an exact window takes no more. */
export const maximumProbationEmails = 5_000

export interface AccountPlan {
  readonly name: string
  /** Emails in any hour and any day. */
  readonly emailsPerHour: number
  /** Emails that its sender lets go in a day. */
  readonly dailyCap: number
}

export interface RunAccount extends AccountPlan {
  readonly organization: string
  readonly key: string
  readonly from: string
}

export const makeAccount = async (platform: Place, adminKey: string, plan: AccountPlan): Promise<RunAccount> => {
  const { dailyCap, emailsPerHour, name } = plan
  const admin = adminOf(platform, adminKey)
  const organization = await makeUnlimited(admin, { name, sendPlan: "enterprise" })
  const path = `/organizations/${organization}`
  const probation = { emailsPerHour, emailsPerDay: emailsPerHour, domainsPerHour: 500 }
  await admin("PUT", `${path}/send/limits`, { emailsPerMonth: "unlimited", requestsPerMinute: "unlimited", probation })
  const { key } = await admin<{ readonly key: string }>("POST", `${path}/keys`, { services: ["send"], scopes: ["*"] })
  const domain = `${name}.example`
  await ask(() => `${platform.url}/v1/send/domains`, { method: "POST", bearer: key, body: { name: domain } })
  await admin("POST", `${path}/send/domains/verify`, { domain, unchecked: true })
  await admin("PUT", `${path}/send/cap`, { sender: domain, dailyCap })
  return { ...plan, organization, key, from: `Ann <ann@${domain}>` }
}

const lifts = new WeakMap<RunAccount, Promise<unknown>>()

/**
 * Lifts the pause of an account that is paused, as its operator would: where an hour ends in the middle of a run, what is sent in the new one is a
 * spike beside the little of the one before. One caller of an account after the other, so that none finds it lifted between its two requests.
 */
export const liftPause = (platform: Place, adminKey: string, account: RunAccount): Promise<void> => {
  const url = () => `${platform.adminUrl}/admin/v1/organizations/${account.organization}/send`
  const lifted = (lifts.get(account) ?? Promise.resolve()).then(async () => {
    const { trustStage } = await ask<{ readonly trustStage: string }>(url, { bearer: adminKey })
    if (trustStage !== "sending_paused") return
    // A lift whose answer a kill took is asked again, and then there is nothing left to lift.
    await ask(() => `${url()}/lift`, { method: "POST", bearer: adminKey, body: {}, orStatus: 400 })
  })
  lifts.set(account, lifted)
  return lifted
}
