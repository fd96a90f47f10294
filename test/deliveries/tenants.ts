/** The organizations of a kill run, over HTTP: each with a key, an endpoint at the receiver, and no limit on its requests. */
import { adminOf, ask, makeUnlimited, type Place } from "../support/ask.ts"

export interface RunTenant {
  readonly organization: string
  readonly key: string
  /** The endpoint's id, which is also the last segment of its path at the receiver. */
  readonly endpoint: string
  readonly secret: string
}

/** Makes an organization without a limit, its key, and its endpoint for all events at the receiver. */
export const makeRunTenant = async (place: Place, adminKey: string, hook: string, name: string): Promise<RunTenant> => {
  const admin = adminOf(place, adminKey)
  const organization = await makeUnlimited(admin, { name })
  const { key } = await admin<{ readonly key: string }>("POST", `/organizations/${organization}/keys`, {
    services: ["telco"],
    scopes: ["*"]
  })
  const endpoint = await ask<{ readonly id: string; readonly signing_secret: string }>(
    () => `${place.url}/v1/webhooks`,
    {
      method: "POST",
      bearer: key,
      body: { url: `${hook}/${name}`, enabled_events: ["telco.*"] }
    }
  )
  return { organization, key, endpoint: endpoint.id, secret: endpoint.signing_secret }
}
