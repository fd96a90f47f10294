/** Filters a list by the address of its view: texts, and a range of time that ends now. */
import { useEffect, useRef } from "preact/hooks"
import { search, setSearch } from "../router.ts"
import { Select } from "../ui/basics.tsx"
import { absolute } from "../ui/time.ts"

const hourMillis = 3_600_000

/** A part of the address; empty without it. */
export const given = (name: string): string => search.value.get(name) ?? ""

/** How far from a moment of the address things are listed, either way: acts and their traces are not of one instant. */
const momentMillis = 3_000

/** The moment in the address, in Unix milliseconds; undefined without it. */
const moment = (): number | undefined => {
  const text = given("moment")
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

/** The parameter of a link to the things of a moment. */
export const atMoment = (at: number): string => `moment=${at}`

/** The end of the range in the address, in Unix milliseconds; empty for now. */
export const until = (): number | "" => {
  const at = moment()
  return at === undefined ? "" : at + momentMillis
}

/** The beginning of the range in the address, a moment's or in hours, in Unix milliseconds. */
export const since = (): number | "" => {
  const at = moment()
  if (at !== undefined) return Math.max(0, at - momentMillis)
  const hours = Number(given("hours"))
  return hours > 0 ? Math.max(0, Math.trunc(Date.now() - hours * hourMillis)) : ""
}

/** Says that a list is of one moment, and leads to the whole one. */
export const Moment = () => {
  const at = moment()
  return at === undefined ? null : (
    <p class="note">
      Only those within three seconds of <span class="whole">{absolute(at)}</span>.{" "}
      <button type="button" class="plain" onClick={() => setSearch({ moment: "" })}>
        Show all times
      </button>
    </p>
  )
}

/** A text of the address, which follows it: the box of the navigation changes it too. */
const TextFilter = ({
  label,
  name,
  placeholder
}: {
  readonly label: string
  readonly name: string
  readonly placeholder: string
}) => {
  const input = useRef<HTMLInputElement>(null)
  const text = given(name)
  useEffect(() => {
    if (input.current !== null) input.current.value = text
  }, [text])
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <input ref={input} id={name} name={name} defaultValue={text} placeholder={placeholder} />
    </div>
  )
}

type TextFields = ReadonlyArray<readonly [name: string, label: string, placeholder: string]>

const TextFilters = ({ of }: { readonly of: TextFields }) =>
  of.map(([name, label, placeholder]) => <TextFilter key={name} label={label} name={name} placeholder={placeholder} />)

/** `more` are fields that few lists need: they are folded away while they are empty. */
export const Filters = ({
  fields,
  hasTime = true,
  more = []
}: {
  readonly fields: TextFields
  /** Whether the list has a range of time. */
  readonly hasTime?: boolean
  readonly more?: TextFields
}) => (
  <search>
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault()
        const typed = [...new FormData(event.currentTarget)].map(([name, text]) => [name, String(text).trim()])
        setSearch(Object.fromEntries(typed))
      }}
    >
      <TextFilters of={fields} />
      <button type="submit">Filter</button>
      {hasTime && (
        <Select
          label="When"
          value={given("hours")}
          options={[
            ["", "Any time"],
            ["1", "Last hour"],
            ["24", "Last day"],
            ["168", "Last week"]
          ]}
          onChange={(hours) => setSearch({ hours })}
        />
      )}
      {more.length > 0 && (
        <details class="more wide" open={more.some(([name]) => given(name) !== "")}>
          <summary>More filters</summary>
          <div class="filters">
            <TextFilters of={more} />
          </div>
        </details>
      )}
    </form>
  </search>
)
