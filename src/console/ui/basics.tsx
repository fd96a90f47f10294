/** Defines the small parts that all views use. */
import { useSignal } from "@preact/signals"
import type { ComponentChildren, InputHTMLAttributes } from "preact"
import { useEffect, useId, useLayoutEffect, useState } from "preact/hooks"
import type { ApiError } from "../api.ts"
import { href } from "../router.ts"
import { session } from "../session.ts"
import { shownDirections } from "./directions.ts"
import { LinkedText } from "./linkedText.tsx"
import { type Tone, toneOf, wordOf } from "./states.ts"
import { absolute, now, relative } from "./time.ts"

/** A time as people say it, with the exact one behind it. */
export const Time = ({ at }: { readonly at: number | string | null | undefined }) => {
  if (at === null || at === undefined) return <span class="none">–</span>
  const millis = typeof at === "number" ? at : Date.parse(at)
  return (
    <time dateTime={new Date(millis).toISOString()} title={absolute(millis)}>
      {relative(millis, now.value)}
    </time>
  )
}

const signs: Readonly<Record<Tone, string>> = { good: "●", bad: "▲", warn: "◆", idle: "○", busy: "◐" }

/** A state as a word with a sign of its own form, so that nobody needs to tell colours apart. */
export const Chip = ({ state, word }: { readonly state: string; readonly word?: string | undefined }) => {
  const tone = toneOf(state)
  return (
    <span class={`chip ${tone}`}>
      <span aria-hidden="true">{signs[tone]}</span> {word ?? wordOf(state)}
    </span>
  )
}

export const Link = ({ to, children }: { readonly to: string; readonly children: ComponentChildren }) => (
  <a href={href(to)}>{children}</a>
)

/** Says what went wrong, with a way to try again. */
export const Fault = ({
  error,
  retry
}: {
  readonly error: ApiError | string
  readonly retry?: (() => void) | undefined
}) => {
  const text = typeof error === "string" ? error : error.message
  if (text === "") return null
  const isForbidden = typeof error !== "string" && error.status === 403
  return (
    <div class="fault" role="alert">
      <p>
        <strong>{isForbidden ? `This ${session.value?.member ? "role" : "key"} may not see that. ` : ""}</strong>
        {text}
      </p>
      {retry !== undefined && !isForbidden && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** Copies a text, and says so to everybody. */
export const Copy = ({ text, what }: { readonly text: string; readonly what: string }) => {
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), 2_000)
    return () => clearTimeout(timer)
  }, [copied])
  const copy = () => {
    const done = () => setCopied(true)
    // Without https a browser has no clipboard to write to.
    if (navigator.clipboard !== undefined) void navigator.clipboard.writeText(text).then(done, () => {})
    else {
      const area = document.createElement("textarea")
      area.value = text
      document.body.append(area)
      area.select()
      document.execCommand("copy")
      area.remove()
      done()
    }
  }
  return (
    <button type="button" class="copy" onClick={copy} aria-label={copied ? "Copied" : `Copy ${what}`}>
      {copied ? "Copied" : "Copy"}
    </button>
  )
}

/** A command to type, with a button that copies it. */
export const Command = ({ text }: { readonly text: string }) => (
  <div class="command">
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: It scrolls, so the keyboard must reach it. */}
    <pre tabIndex={0}>{text}</pre>
    <Copy text={text} what="command" />
  </div>
)

/** Code or JSON that may be long. */
export const Code = ({
  text,
  label,
  isLinked = false
}: {
  readonly text: string
  readonly label: string
  /** Whether ids in it lead to what they name. */
  readonly isLinked?: boolean
}) => {
  const shown = shownDirections(text)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: It scrolls, so the keyboard must reach it.
    <section class="code" aria-label={label} tabIndex={0}>
      <Copy text={text} what={label} />
      <pre>{isLinked ? <LinkedText text={shown} /> : shown}</pre>
    </section>
  )
}

export const Json = ({ value, label }: { readonly value: unknown; readonly label: string }) => (
  <Code text={JSON.stringify(value, null, 2)} label={label} isLinked />
)

/** Explains an empty list: the first thing to do. */
export const Empty = ({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) => (
  <div class="empty">
    <p class="title">{title}</p>
    {children}
  </div>
)

export const Loading = () => (
  <p class="loading" role="status">
    Loading …
  </p>
)

/** A part of a view under a heading. */
export const Part = ({
  title,
  actions,
  children
}: {
  readonly title: string
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}) => {
  const id = useId()
  return (
    <section class="part" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </section>
  )
}

/** The head of a view: its title is where a reader lands. */
export const Head = ({
  title,
  note,
  trail,
  actions
}: {
  readonly title: string
  readonly note?: ComponentChildren
  /** The list that it belongs to. */
  readonly trail?: readonly [to: string, word: string]
  readonly actions?: ComponentChildren
}) => {
  const shown = shownDirections(title)
  useLayoutEffect(() => {
    document.title = `${session.value?.member && session.value.mode === "test" ? "Test · " : ""}${shown} · Sluice`
  }, [shown])
  return (
    <header class="head">
      <div>
        {trail !== undefined && (
          <nav aria-label="Breadcrumb" class="trail">
            <Link to={trail[0]}>{trail[1]}</Link> /
          </nav>
        )}
        <h1 tabIndex={-1}>
          <bdi>{shown}</bdi>
        </h1>
        {note !== undefined && <p class="note">{note}</p>}
      </div>
      {actions !== undefined && <div class="actions">{actions}</div>}
    </header>
  )
}

/** Names and values. */
export const Facts = ({
  of
}: {
  readonly of: ReadonlyArray<readonly [name: string, value: ComponentChildren] | false | undefined>
}) => (
  <dl class="facts">
    {of.map(
      (pair) =>
        pair && (
          <div key={pair[0]}>
            <dt>{pair[0]}</dt>
            <dd>{pair[1]}</dd>
          </div>
        )
    )}
  </dl>
)

/** How much of a limit is used, as a picture and in figures. */
export const Meter = ({
  label,
  used,
  limit,
  note,
  isProgress = false
}: {
  readonly label: string
  readonly used: number
  /** Whether a full one is good: the end of a work, and no limit. */
  readonly isProgress?: boolean
  /** Null for no limit. */
  readonly limit: number | null
  readonly note?: ComponentChildren
}) => {
  const share = limit === null || limit === 0 ? 0 : Math.min(1, used / limit)
  const tone = isProgress ? "good" : share >= 1 ? "bad" : share >= 0.8 ? "warn" : "good"
  return (
    <div class="meter">
      <div class="line">
        <span>{label}</span>
        <span class="figures">
          {used.toLocaleString()}{" "}
          <span class="of">{limit === null ? "without a limit" : `of ${limit.toLocaleString()}`}</span>
        </span>
      </div>
      {limit !== null && (
        // biome-ignore lint/a11y/useSemanticElements: Browsers draw their own in colours that cannot be chosen.
        <div
          class={`bar ${tone}`}
          role="meter"
          aria-label={label}
          aria-valuemin={0}
          aria-valuemax={Math.max(limit, used)}
          aria-valuenow={used}
          aria-valuetext={`${used} of ${limit}`}
        >
          <span style={{ width: `${share * 100}%` }} />
        </div>
      )}
      {note !== undefined && <div class="note">{note}</div>}
    </div>
  )
}

type InputEvent_ = Event & { readonly currentTarget: HTMLInputElement }

/** A field with its label. */
export const Field = ({
  label,
  hint,
  value,
  type = "text",
  required = false,
  placeholder,
  pattern,
  isFigure = false,
  onInput
}: {
  readonly label: string
  readonly hint?: string
  readonly value: string
  readonly type?: "text" | "password" | "url" | "email"
  readonly required?: boolean
  readonly placeholder?: string
  readonly pattern?: string
  /** Phones then show digits. */
  readonly isFigure?: boolean
  readonly onInput: (event: InputEvent_) => void
}) => {
  const id = useId()
  const attributes = {
    id,
    type,
    value,
    required,
    placeholder: placeholder ?? "",
    autocomplete: "off",
    spellcheck: false,
    inputMode: isFigure ? "numeric" : "text",
    ...(pattern === undefined ? {} : { pattern }),
    ...(hint === undefined ? {} : { "aria-describedby": `${id}-hint` }),
    onInput
    // The library's type has a case for each `type`, of which the compiler cannot choose one here.
  } as InputHTMLAttributes<HTMLInputElement>
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input {...attributes} />
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}

export const Select = ({
  label,
  value,
  options,
  onChange
}: {
  readonly label: string
  readonly value: string
  readonly options: ReadonlyArray<readonly [value: string, word: string]>
  readonly onChange: (value: string) => void
}) => {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([one, word]) => (
          <option key={one} value={one}>
            {word}
          </option>
        ))}
      </select>
    </div>
  )
}

/** Several parts of which one is shown. */
export const Tabs = ({
  label,
  tabs
}: {
  readonly label: string
  readonly tabs: ReadonlyArray<readonly [word: string, show: () => ComponentChildren]>
}) => {
  const at = useSignal(0)
  const id = useId()
  const move = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    at.value = (at.value + step + tabs.length) % tabs.length
    document.getElementById(`${id}-${at.value}`)?.focus()
  }
  return (
    <div class="tabs">
      <div role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map(([word], index) => (
          <button
            key={word}
            type="button"
            role="tab"
            id={`${id}-${index}`}
            aria-selected={at.value === index}
            aria-controls={`${id}-panel`}
            tabIndex={at.value === index ? 0 : -1}
            onClick={() => {
              at.value = index
            }}
          >
            {word}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${at.value}`}>
        {tabs[at.value]?.[1]()}
      </div>
    </div>
  )
}
