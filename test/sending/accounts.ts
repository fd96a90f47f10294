/** The accounts of a kill run, over HTTP: each with a key, a verified domain and limits of its own. What is asked here is asked again when the platform was away. */
import { ask, type Place } from "../deliveries/tenants.ts"

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
  const admin = <A>(method: string, path: string, body: object) =>
    ask<A>(() => `${platform.adminUrl}/admin/v1${path}`, { method, bearer: adminKey, body })
  const { id: organization } = await admin<{ readonly id: string }>("POST", "/organizations", {
    name,
    plan: "team",
    sendPlan: "enterprise"
  })
  const path = `/organizations/${organization}`
  await admin("PUT", `${path}/limits`, { requestsPerMinute: "unlimited" })
  const probation = { emailsPerHour, emailsPerDay: emailsPerHour, domainsPerHour: 500 }
  await admin("PUT", `${path}/send/limits`, { emailsPerMonth: "unlimited", requestsPerMinute: "unlimited", probation })
  const { key } = await admin<{ readonly key: string }>("POST", `${path}/keys`, { services: ["send"], scopes: ["*"] })
  const domain = `${name}.example`
  await ask(() => `${platform.url}/v1/send/domains`, { method: "POST", bearer: key, body: { name: domain } })
  await admin("POST", `${path}/send/domains/verify`, { domain, unchecked: true })
  await admin("PUT", `${path}/send/cap`, { sender: domain, dailyCap })
  return { ...plan, organization, key, from: `Ann <ann@${domain}>` }
}
