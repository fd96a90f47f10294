/** Filters a list by the address of its view: texts, and a range of time that ends now. */
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

export const Filters = ({
  fields
}: {
  readonly fields: ReadonlyArray<readonly [name: string, label: string, placeholder: string]>
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
      {fields.map(([name, label, placeholder]) => (
        <div class="field" key={name}>
          <label for={name}>{label}</label>
          <input id={name} name={name} defaultValue={given(name)} placeholder={placeholder} />
        </div>
      ))}
      <button type="submit">Filter</button>
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
    </form>
  </search>
)
