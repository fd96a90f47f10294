/** Knows the views of single objects by the beginnings of their ids, for the user that is signed in. */
import { hasScope, hasService, isOperatorConsole, portal } from "./session.ts"

type Place = readonly [prefix: string, place: (id: string) => string, isAllowed?: () => boolean]

const ofOrganization: ReadonlyArray<Place> = [
  ["em_", (id) => `/emails/${id}`, () => hasService("send")],
  ["evt_", (id) => `/events/${id}`, () => hasScope("platform:events:read") || hasScope("platform:webhooks:read")],
  ["we_", (id) => `/endpoints/${id}`, () => hasScope("platform:webhooks:read")],
  ["dom_", (id) => `/domains/${id}`, () => hasService("send")],
  ["rq_", (id) => `/requests/${id}`, () => hasScope("platform:requests:read")],
  ["req_", (id) => `/requests?requestId=${id}`, () => hasScope("platform:requests:read")],
  ["key_", (id) => `/emails?key=${id}`, () => hasService("send")]
]

const ofOperator: ReadonlyArray<Place> = [
  ["org_", (id) => `/organizations/${id}`],
  ["in_", (id) => `/invoices/${id}`],
  ["key_", (id) => `/organizations?search=${id}`]
]

/** The view of an id; undefined where there is none, or the user may not see it. */
export const placeOfId = (id: string): string | undefined => {
  if (portal.value !== null) return undefined
  const found = (isOperatorConsole ? ofOperator : ofOrganization).find(([prefix]) => id.startsWith(prefix))
  return found === undefined || found[2]?.() === false || !/^[a-z]+_[\w-]+$/.test(id) ? undefined : found[1](id)
}

/** Ids in a text. Those of the platform are long, unlike words with an underscore. */
export const idsIn = /\b(?:em|evt|we|dom|rq|req|key|org|in)_[A-Za-z0-9-]{16,}/g
