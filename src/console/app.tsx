/** Renders the frame of every view: the signed-in account, the navigation and the present view. */
import { useSignal } from "@preact/signals"
import type { ComponentType } from "preact"
import { useEffect, useLayoutEffect, useRef } from "preact/hooks"
import { ask, get } from "./api.ts"
import { enter } from "./enter.ts"
import { Finder } from "./finder.tsx"
import { connect, disconnect, liveState } from "./live.ts"
import { go, href, match, place, takeClicks } from "./router.ts"
import {
  isChoosing,
  isOperatorConsole,
  isPortalOver,
  mailbox,
  operator,
  portal,
  session,
  shownMode,
  signInReason,
  waitingLink
} from "./session.ts"
import { AcceptLink, ChooseOrganization, SignIn } from "./signIn.tsx"
import { nextTheme, theme } from "./theme.ts"
import { Chip, Fault, Head, Loading } from "./ui/basics.tsx"
import { Mark } from "./ui/mark.tsx"
import { ModeSwitch, TestMark } from "./ui/modeSwitch.tsx"
import { TopBar } from "./ui/topBar.tsx"
import type { Route } from "./views/routes.ts"

type Routes = ReadonlyArray<Route>

/** The route of a place, with what its address names. */
const find = (
  routes: Routes,
  at: string
): { readonly route: Route; readonly params: Readonly<Record<string, string>> } | undefined => {
  for (const route of routes) {
    const params = match(route.path, at)
    if (params !== undefined) return { route, params }
  }
  return undefined
}

const NotFound = () => (
  <>
    <Head title="Nothing here" />
    <p>
      The console has no such page. <a href={href("/")}>Go to the overview</a>
    </p>
  </>
)

const liveWords = { live: "Connected", connecting: "Connecting", waiting: "Connecting again" } as const

const Who = () => {
  const { value } = session
  if (portal.value !== null)
    return (
      <div class="who">
        <strong>{portal.value.organization.name}</strong>
        <p class="note">
          Endpoints of <span class="mono">{portal.value.label}</span>
          {portal.value.mode === "test" && " · Test mode"}
        </p>
      </div>
    )
  if (isOperatorConsole)
    return (
      <div class="who">
        <strong>Operator</strong>
        <p class="note">Sluice {operator.value?.version}</p>
      </div>
    )
  return (
    <div class="who">
      <strong>{value?.organization.name}</strong>
      <p class="note">
        {value?.member == null
          ? `${value?.mode === "test" ? "Test mode" : "Live mode"} · ${value?.organization.plan.replace("_", " ")}`
          : `${value.member.role} · ${value.organization.plan.replace("_", " ")}`}
      </p>
      <ModeSwitch />
      <Chip state={liveState.value === "live" ? "active" : "connecting"} word={liveWords[liveState.value]} />
    </div>
  )
}

const signOut = async (): Promise<void> => {
  try {
    if (isOperatorConsole) await ask("DELETE", "/admin/v1/console/session")
    else await ask("DELETE", "/v1/console/session")
  } catch {
    // A session that has ended already is over as well.
  }
  signInReason.value = "You are signed out."
  isChoosing.value = false
  isPortalOver.value = portal.value !== null
  portal.value = null
  session.value = null
  operator.value = null
  go("/", { replace: true })
}

const themeWords = { system: "as the system", light: "light", dark: "dark" } as const

/** The organization and the mode at the top of a phone, whose menu is folded away. */
const Whose = () => {
  const name = portal.value?.organization.name ?? session.value?.organization.name
  if (name === undefined || isOperatorConsole) return null
  return (
    <p class="whose">
      <span>{name}</span>
      <span class={shownMode() === "test" ? "mode test" : "mode"}>{shownMode() === "test" ? "Test" : "Live"}</span>
    </p>
  )
}

const Side = ({ at, routes }: { readonly at: Route | undefined; readonly routes: Routes }) => {
  const isOpen = useSignal(false)
  useEffect(() => {
    isOpen.value = false
  }, [place.value])
  return (
    <nav class="side" aria-label="Console">
      <TopBar home={href("/")} isOpen={isOpen}>
        <Whose />
      </TopBar>
      {!isOperatorConsole && portal.value === null && (
        <Finder
          onFind={() => {
            isOpen.value = false
          }}
        />
      )}
      <div class="fold" id="menu" hidden={!isOpen.value}>
        <Who />
        <ul>
          {routes
            .filter(({ word, isAllowed }) => word !== undefined && isAllowed?.() !== false)
            .map(({ path, section, word }) => (
              <li key={path}>
                <a href={href(path)} aria-current={at?.section === section ? "page" : undefined}>
                  {word}
                </a>
              </li>
            ))}
        </ul>
        <div class="foot">
          {portal.value === null && (
            <>
              {mailbox !== undefined && (
                <a href={mailbox} class="note">
                  Local mailbox
                </a>
              )}
              <a href="/guides/" target="_blank" rel="noreferrer" class="note">
                Guides
              </a>
              <a href="/docs" target="_blank" rel="noreferrer" class="note">
                Documentation of the API
              </a>
            </>
          )}
          {(session.value?.organizations.length ?? 0) > 1 && (
            <button
              type="button"
              class="plain"
              onClick={() => {
                isChoosing.value = true
              }}
            >
              Change organization
            </button>
          )}
          <button type="button" class="plain" onClick={nextTheme}>
            Colours: {themeWords[theme.value]}
          </button>
          <button type="button" class="plain" onClick={() => void signOut()}>
            Sign out
          </button>
        </div>
      </div>
    </nav>
  )
}

const Shell = ({ routes }: { readonly routes: Routes }) => {
  const main = useRef<HTMLElement>(null)
  const at = place.value
  const found = find(routes, at)
  const isFirst = useRef(true)
  // A user of the keyboard or a screen reader begins at the new view's title, before any other key.
  useLayoutEffect(() => {
    if (isFirst.current) isFirst.current = false
    else main.current?.querySelector("h1")?.focus()
  }, [at])
  const View: ComponentType<{ readonly params: Readonly<Record<string, string>> }> = found?.route.view ?? NotFound
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => main.current?.querySelector("h1")?.focus()}>
        Skip to the content
      </button>
      <Side at={found?.route} routes={routes} />
      <main id="main" ref={main}>
        <TestMark />
        <View key={`${session.value?.organization.id} ${shownMode()} ${at}`} params={found?.params ?? {}} />
      </main>
    </div>
  )
}

/** Reads the part after `#link=`, once, and removes it from the address immediately. */
const takeLink = (): string | undefined => {
  const link = /^#link=((?:cl|pl|ml)_\w+)$/.exec(location.hash)?.[1]
  if (link !== undefined) history.replaceState(null, "", location.pathname + location.search)
  return link
}

const begin = async (): Promise<void> => {
  const link = takeLink()
  if (isOperatorConsole) {
    operator.value = await get("/admin/v1/console/session").catch(() => null)
    return
  }
  if (link?.startsWith("ml_")) {
    waitingLink.value = link
    session.value = null
    return
  }
  if (link !== undefined) {
    try {
      await ask("POST", "/v1/console/sessions", { body: { link } })
    } catch (cause) {
      signInReason.value = cause instanceof Error ? cause.message : String(cause)
      isPortalOver.value = link.startsWith("pl_")
    }
  }
  await enter()
}

/** `routes` are those of the user that is signed in. */
export const App = ({ routes }: { readonly routes: () => Routes }) => {
  useEffect(() => {
    document.addEventListener("click", takeClicks)
    // A link that is opened in a page of the console changes its address alone.
    const takeAnother = () => location.hash.startsWith("#link=") && void begin()
    addEventListener("hashchange", takeAnother)
    void begin()
    return () => {
      document.removeEventListener("click", takeClicks)
      removeEventListener("hashchange", takeAnother)
    }
  }, [])
  const who = isOperatorConsole ? operator.value : (portal.value ?? session.value)
  const isIn = who !== null && who !== undefined
  const key = isOperatorConsole ? "" : `${session.value?.organization.id} ${shownMode()}`
  // A portal sees no events.
  const hears = isIn && !isOperatorConsole && portal.value === null
  useEffect(() => {
    if (!hears) return
    connect()
    return disconnect
  }, [hears, key])
  if (who === undefined) return <Loading />
  if (waitingLink.value !== "") return <AcceptLink mark={<Mark />} />
  if (isIn && isChoosing.value) return <ChooseOrganization mark={<Mark />} />
  if (who === null) return <SignIn mark={<Mark />} reason={<Fault error={signInReason.value} />} />
  return <Shell routes={routes()} />
}
