/** Filters a list by the address of its view: texts, and a range of time that ends now. */
import { useEffect, useRef } from "preact/hooks"
import { search, setSearch } from "../router.ts"
import { Select } from "../ui/basics.tsx"

const hourMillis = 3_600_000

/** A part of the address; empty without it. */
export const given = (name: string): string => search.value.get(name) ?? ""

/** The beginning of the range in the address, which is in hours, in Unix milliseconds. */
export const since = (): number | "" => {
  const hours = Number(given("hours"))
  return hours > 0 ? Math.max(0, Math.trunc(Date.now() - hours * hourMillis)) : ""
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
