/** Lists the views of an organization's console, and those of a portal. */
import type { ComponentType } from "preact"
import { hasScope, hasService } from "../session.ts"
import { Audit } from "./audit.tsx"
import { Billing } from "./billing.tsx"
import { Delivery } from "./delivery.tsx"
import { Domain } from "./domain.tsx"
import { Email } from "./email.tsx"
import { Emails } from "./emails.tsx"
import { Endpoint } from "./endpoint.tsx"
import { Endpoints } from "./endpoints.tsx"
import { Event } from "./event.tsx"
import { Events } from "./events.tsx"
import { Keys } from "./keys.tsx"
import { Overview } from "./overview.tsx"
import { People } from "./people.tsx"
import { Request, Requests } from "./requests.tsx"
import { Senders } from "./senders.tsx"
import { Sending } from "./sending.tsx"
import { Sessions } from "./sessions.tsx"
import { Suppressions } from "./suppressions.tsx"

export interface Route {
  readonly path: string
  /** Its name in the navigation; views of one object have none. */
  readonly word?: string
  /** The entry of the navigation that it belongs to. */
  readonly section: string
  readonly isAllowed?: () => boolean
  readonly view: ComponentType<{ readonly params: Readonly<Record<string, string>> }>
}

const seesEvents = () => hasScope("platform:events:read") || hasScope("platform:webhooks:read")
const seesWebhooks = () => hasScope("platform:webhooks:read")
const sends = () => hasService("send")

export const routes: ReadonlyArray<Route> = [
  { path: "/", word: "Overview", section: "overview", view: Overview },
  { path: "/events", word: "Events", section: "events", isAllowed: seesEvents, view: Events },
  { path: "/events/:id", section: "events", view: Event },
  { path: "/endpoints", word: "Endpoints", section: "endpoints", isAllowed: seesWebhooks, view: Endpoints },
  { path: "/endpoints/:id", section: "endpoints", view: Endpoint },
  { path: "/endpoints/:id/deliveries/:delivery", section: "endpoints", view: Delivery },
  { path: "/emails", word: "Emails", section: "emails", isAllowed: sends, view: Emails },
  { path: "/emails/:id", section: "emails", view: Email },
  { path: "/sending", word: "Sending", section: "sending", isAllowed: sends, view: Sending },
  { path: "/domains", word: "Domains", section: "domains", isAllowed: sends, view: Senders },
  { path: "/domains/:id", section: "domains", view: Domain },
  { path: "/suppressions", word: "Suppressions", section: "suppressions", isAllowed: sends, view: Suppressions },
  { path: "/keys", word: "API keys", section: "keys", isAllowed: () => hasScope("platform:keys:manage"), view: Keys },
  {
    path: "/people",
    word: "People",
    section: "people",
    isAllowed: () => hasScope("platform:people:manage"),
    view: People
  },
  { path: "/sessions", word: "Sessions", section: "sessions", view: Sessions },
  {
    path: "/requests",
    word: "Requests",
    section: "requests",
    isAllowed: () => hasScope("platform:requests:read"),
    view: Requests
  },
  { path: "/requests/:id", section: "requests", view: Request },
  { path: "/audit", word: "Audit", section: "audit", isAllowed: () => hasScope("platform:audit:read"), view: Audit },
  {
    path: "/billing",
    word: "Plan and usage",
    section: "billing",
    isAllowed: () => hasScope("platform:billing:read"),
    view: Billing
  }
]

/** The views of a portal: the webhook endpoints of its label. */
export const portalRoutes: ReadonlyArray<Route> = [
  { path: "/", word: "Endpoints", section: "endpoints", view: Endpoints },
  { path: "/endpoints", section: "endpoints", view: Endpoints },
  { path: "/endpoints/:id", section: "endpoints", view: Endpoint },
  { path: "/endpoints/:id/deliveries/:delivery", section: "endpoints", view: Delivery }
]
