/** Renders the documentation of the API: its operations in groups, a search, and the introduction or one operation. */
import { signal } from "@preact/signals"
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"
import { wordsOf } from "../api.ts"
import { nextTheme, theme } from "../theme.ts"
import { Copy, Fault, Loading } from "../ui/basics.tsx"
import { Mark } from "../ui/mark.tsx"
import { type ApiDescription, fits, type Group, groupsOf, loadDescription, type Operation } from "./description.ts"
import { Markdown } from "./markdown.tsx"
import { OperationView } from "./operationView.tsx"
import { askIdentity } from "./tryIt.tsx"

/** The operation that the address names, behind `#`. */
const here = (): string => decodeURIComponent(location.hash.slice(1))
const place = signal(here())
addEventListener("hashchange", () => {
  place.value = here()
})

const themeWords = { system: "as the system", light: "light", dark: "dark" } as const

const wordOf = ({ kind, method }: Operation): string => (kind === "event" ? "EVENT" : method)

const Navigation = ({ groups, words }: { readonly groups: ReadonlyArray<Group>; readonly words: string }) => {
  const shown = groups
    .map((group) => ({ ...group, operations: group.operations.filter((one) => fits(one, words)) }))
    .filter(({ operations }) => operations.length > 0)
  return (
    <>
      <p class="hidden" role="status">
        {words === "" ? "" : `${shown.reduce((sum, { operations }) => sum + operations.length, 0)} found`}
      </p>
      {shown.length === 0 && <p class="note">Nothing fits.</p>}
      {shown.map(({ name, operations }) => (
        <details
          key={name}
          class="group"
          open={words !== "" || operations.some(({ id }) => id === place.value) || name === "Emails"}
        >
          <summary>{name}</summary>
          <ul>
            {operations.map((operation) => (
              <li key={operation.id}>
                <a
                  href={`#${encodeURIComponent(operation.id)}`}
                  aria-current={operation.id === place.value ? "page" : undefined}
                >
                  <span>{operation.title}</span>
                  <span class={`method ${wordOf(operation).toLowerCase()}`}>{wordOf(operation)}</span>
                </a>
              </li>
            ))}
          </ul>
        </details>
      ))}
    </>
  )
}

const Side = ({ groups, title }: { readonly groups: ReadonlyArray<Group>; readonly title: string }) => {
  const input = useRef<HTMLInputElement>(null)
  const [words, setWords] = useState("")
  const [isOpen, setOpen] = useState(false)
  const at = place.value
  useEffect(() => setOpen(false), [at])
  useEffect(() => {
    const take = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof Element && event.target.matches("input, textarea, select")
      if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
      event.preventDefault()
      setOpen(true)
      input.current?.focus()
    }
    document.addEventListener("keydown", take)
    return () => document.removeEventListener("keydown", take)
  }, [])
  return (
    <nav class="side" aria-label="API">
      <div class="bar-top">
        <a class="brand" href="#introduction">
          <Mark /> {title}
        </a>
        <button type="button" class="menu" aria-expanded={isOpen} aria-controls="menu" onClick={() => setOpen(!isOpen)}>
          Menu
        </button>
      </div>
      <search>
        <input
          ref={input}
          type="search"
          aria-label="Search the operations"
          aria-keyshortcuts="/"
          placeholder="Search (press /)"
          value={words}
          onFocus={() => setOpen(true)}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
      </search>
      <div class="fold" id="menu" hidden={!isOpen}>
        <div class="groups">
          <Navigation groups={groups} words={words.trim()} />
        </div>
        <div class="foot">
          <a class="note" href="/console">
            Console
          </a>
          <a class="note" href="/guides/">
            Guides
          </a>
          <a class="note" href="/openapi.json">
            OpenAPI
          </a>
          <button type="button" class="plain" onClick={nextTheme}>
            Colours: {themeWords[theme.value]}
          </button>
        </div>
      </div>
    </nav>
  )
}

const Introduction = ({ api, groups }: { readonly api: ApiDescription; readonly groups: ReadonlyArray<Group> }) => (
  <>
    <header class="head">
      <div>
        <h1 tabIndex={-1}>{api.info.title}</h1>
        <p class="note">
          Version {api.info.version}, at <span class="mono">{location.origin}</span>
        </p>
      </div>
    </header>
    <section class="part" aria-label="Introduction">
      <Markdown text={api.info.description ?? ""} />
    </section>
    <section class="part" aria-label="Groups">
      <h2>Groups</h2>
      <ul class="fields">
        {groups.map(({ name, note, operations }) => (
          <li key={name}>
            <a href={`#${encodeURIComponent(operations[0]!.id)}`}>{name}</a>
            <Markdown text={note} />
          </li>
        ))}
      </ul>
    </section>
  </>
)

const Heading = ({ group, operation }: { readonly group: string; readonly operation: Operation }) => (
  <header class="head">
    <div>
      <p class="trail">{group}</p>
      <h1 tabIndex={-1}>{operation.title}</h1>
      <p class="request">
        <span class={`method ${wordOf(operation).toLowerCase()}`}>{wordOf(operation)}</span>{" "}
        <code>{operation.path}</code> <Copy text={operation.path} what="path" />
      </p>
    </div>
  </header>
)

const Shown = ({ api, groups }: { readonly api: ApiDescription; readonly groups: ReadonlyArray<Group> }) => {
  const id = place.value
  const group = groups.find(({ operations }) => operations.some((one) => one.id === id))
  const operation = group?.operations.find((one) => one.id === id)
  const isFirst = useRef(true)
  useLayoutEffect(() => {
    document.title = `${operation?.title ?? api.info.title} · API`
    // A reader goes on at the title of what was chosen.
    if (!isFirst.current) {
      scrollTo(0, 0)
      document.querySelector<HTMLElement>("main h1")?.focus({ preventScroll: true })
    }
    isFirst.current = false
  }, [id])
  if (group === undefined || operation === undefined) return <Introduction api={api} groups={groups} />
  return (
    <>
      <Heading group={group.name} operation={operation} />
      <OperationView key={id} api={api} operation={operation} />
    </>
  )
}

export const ApiPage = () => {
  const [api, setApi] = useState<ApiDescription | undefined>(undefined)
  const [error, setError] = useState("")
  const load = () => {
    setError("")
    loadDescription().then(setApi, (cause) => setError(wordsOf(cause)))
  }
  useEffect(() => {
    load()
    void askIdentity()
  }, [])
  const groups = api === undefined ? [] : groupsOf(api)
  return (
    <div class="shell docs">
      <button type="button" class="skip" onClick={() => document.querySelector<HTMLElement>("main h1")?.focus()}>
        Skip to the content
      </button>
      <Side groups={groups} title="API" />
      <main id="main">
        {api === undefined ? (
          <>
            <h1 tabIndex={-1}>API</h1>
            {error === "" ? <Loading /> : <Fault error={error} retry={load} />}
          </>
        ) : (
          <Shown api={api} groups={groups} />
        )}
      </main>
    </div>
  )
}
