/** Keeps the signed-in session, and the reason of its end. */
import { signal } from "@preact/signals"
import type { Answer } from "./endpoints.ts"

export type Session = Answer<"GET", "/v1/console/session">
export type PortalShown = Answer<"GET", "/v1/console/portal">
export type Operator = Answer<"GET", "/admin/v1/console/session">

/** Undefined while that is not known yet, null for nobody. */
export const session = signal<Session | null | undefined>(undefined)
export const operator = signal<Operator | null | undefined>(undefined)

/** The signed-in portal, which shows the webhook endpoints of one label; then nobody else is signed in. */
export const portal = signal<PortalShown | null>(null)

/** Whether a portal has ended, or its link was not good: another link opens it, and no key. */
export const isPortalOver = signal(false)

export type Mode = Session["mode"]

const modeKey = "sluice-mode"

/** The mode in which this window of a member acts: another window may show the other one. */
export const chosenMode = signal<Mode>(sessionStorage.getItem(modeKey) === "test" ? "test" : "live")

export const chooseMode = (mode: Mode): void => {
  sessionStorage.setItem(modeKey, mode)
  chosenMode.value = mode
}

/** The mode of what is shown; undefined for nobody, and for operators. */
export const shownMode = (): Mode | undefined => portal.value?.mode ?? session.value?.mode

/** A mailed link that waits for its reader: a program that opens addresses must not use it up. */
export const waitingLink = signal("")

/** Whether a member of several organizations is to choose one. */
export const isChoosing = signal(false)

/** Whether the signed-in member only reads: then no view shows an act. */
export const isViewer = (): boolean => session.value?.member?.role === "viewer"

/** Why somebody has to sign in, where there is something to say. */
export const signInReason = signal("")

const metaOf = (name: string): string | undefined =>
  document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content

/** Whom this page is for; the page itself says it. */
export const isOperatorConsole = metaOf("sluice-console") === "operator"

/** Where the local mailbox is; undefined where there is none. */
export const mailbox = metaOf("sluice-mailbox")

/** Ends the session after an answer of 401. */
export const sessionEnded = (): void => {
  const wasSignedIn = session.value || operator.value
  if (wasSignedIn)
    signInReason.value =
      session.value?.member == null
        ? "Your session has ended, or its key was revoked. Sign in again to go on."
        : "Your session has ended. Sign in again to go on."
  if (portal.value !== null) {
    signInReason.value = "Your session has ended."
    isPortalOver.value = true
  }
  portal.value = null
  session.value = null
  operator.value = null
}

/** Whether the session has a scope, itself or by a wider one. */
export const hasScope = (scope: string): boolean => {
  if (portal.value !== null) return scope.startsWith("platform:webhooks:")
  const scopes: ReadonlyArray<string> = session.value?.scopes ?? []
  return scopes.includes("*") || scopes.includes(scope) || scopes.includes(`${scope.slice(0, scope.indexOf(":"))}:*`)
}

export const hasService = (service: string): boolean =>
  ((session.value?.services ?? []) as ReadonlyArray<string>).includes(service)
