/**
 * Side requests of a long run to the platform over HTTP, repeated while the platform is away, so that only the run's own
 * requests meet the kills once.
 */
import { setTimeout as pause } from "node:timers/promises"

/** Where the platform is now; each start has another admin address. */
export interface Place {
  readonly url: string
  readonly adminUrl: string
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

/** Asks of the admin API. */
export type Admin = <A>(method: string, path: string, body: object) => Promise<A>

export const adminOf =
  (place: Place, adminKey: string): Admin =>
  (method, path, body) =>
    ask(() => `${place.adminUrl}/admin/v1${path}`, { method, bearer: adminKey, body })

/** Makes an organization without a limit on its requests, and answers its id. */
export const makeUnlimited = async (
  admin: Admin,
  organization: { readonly name: string; readonly sendPlan?: string }
): Promise<string> => {
  const { id } = await admin<{ readonly id: string }>("POST", "/organizations", { plan: "team", ...organization })
  await admin("PUT", `/organizations/${id}/limits`, { requestsPerMinute: "unlimited" })
  return id
}
