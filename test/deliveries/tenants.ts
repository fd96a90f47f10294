/**
 * The organizations of a kill run, over HTTP: each with a key, an endpoint at the receiver, and no limit on its requests. What is asked of them
 * here is asked again when the platform was away, so that only lookups meet the kills once.
 */
import { setTimeout as pause } from "node:timers/promises"

/** Where the platform is now; each start has another admin address. */
export interface Place {
  readonly url: string
  readonly adminUrl: string
}

export interface RunTenant {
  readonly organization: string
  readonly key: string
  /** The endpoint's id, which is also the last segment of its path at the receiver. */
  readonly endpoint: string
  readonly secret: string
}

interface Asked {
  readonly method?: string
  readonly bearer: string
  readonly body?: object
  /** An answer that is as good as a 2xx. */
  readonly orStatus?: number
}

/** Asks until there is an answer that is not 503, and wants a 2xx. */
export const ask = async <A>(url: () => string, { bearer, body, method = "GET", orStatus }: Asked): Promise<A> => {
  for (;;) {
    const response = await fetch(url(), {
      method,
      headers: {
        authorization: `Bearer ${bearer}`,
        ...(body === undefined ? {} : { "content-type": "application/json" })
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    }).catch(() => undefined)
    if (response === undefined || response.status === 503) {
      await response?.body?.cancel()
      await pause(20)
      continue
    }
    const text = await response.text()
    if (!response.ok && response.status !== orStatus)
      throw new Error(`${method} ${url()} answers ${response.status} ${text}`)
    return JSON.parse(text) as A
  }
}

/** All elements of a cursor-paginated list. `look` sees each page's text. */
export const listed = async <A>(
  url: () => string,
  bearer: string,
  look: (text: string, page: ReadonlyArray<A>) => void = () => {}
): Promise<ReadonlyArray<A>> => {
  const found: Array<A> = []
  let cursor = ""
  for (;;) {
    const response = await fetch(`${url()}?limit=100${cursor}`, { headers: { authorization: `Bearer ${bearer}` } })
    const text = await response.text()
    if (!response.ok) throw new Error(`${url()} answers ${response.status} ${text}`)
    const { data, pagination } = JSON.parse(text) as {
      readonly data: ReadonlyArray<A>
      readonly pagination: { readonly nextCursor?: string }
    }
    look(text, data)
    found.push(...data)
    if (pagination.nextCursor === undefined) return found
    cursor = `&cursor=${encodeURIComponent(pagination.nextCursor)}`
  }
}

/** Makes an organization without a limit, its key, and its endpoint for all events at the receiver. */
export const makeRunTenant = async (place: Place, adminKey: string, hook: string, name: string): Promise<RunTenant> => {
  const admin = <A>(method: string, path: string, body: object) =>
    ask<A>(() => `${place.adminUrl}/admin/v1${path}`, { method, bearer: adminKey, body })
  const { id: organization } = await admin<{ readonly id: string }>("POST", "/organizations", { name, plan: "team" })
  await admin("PUT", `/organizations/${organization}/limits`, { requestsPerMinute: "unlimited" })
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
