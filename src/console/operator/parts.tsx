/** Defines the small parts that the operator's lists share. */
import type { ComponentChildren } from "preact"
import { setSearch } from "../router.ts"
import { Chip, Link, Meter, Select, Time } from "../ui/basics.tsx"
import { wordOf } from "../ui/states.ts"
import type { Loaded } from "../usePages.ts"
import { given } from "../views/filters.tsx"

/** Says how old the shown figures are, and how often they are read again. */
export const Age = ({ of, seconds }: { readonly of: Loaded<unknown>; readonly seconds: number }) =>
  of.loadedAt === undefined ? null : (
    <p class="note" data-age>
      As of <Time at={of.loadedAt} />, read again every {seconds} seconds.
      {of.error !== undefined && " The last try has failed."}
    </p>
  )

/** A figure that nobody says at the moment. */
export const Unknown = () => <Chip state="unknown" word="Unknown" />

export const OrganizationCell = ({ id, name }: { readonly id: string; readonly name: string }) => (
  <>
    <Link to={`/organizations/${id}`}>
      <bdi>{name}</bdi>
    </Link>
    <span class="sub mono">{id}</span>
  </>
)

/** A choice that the address keeps. */
export const Choice = ({
  label,
  name,
  options
}: {
  readonly label: string
  readonly name: string
  readonly options: ReadonlyArray<readonly [value: string, word: string]>
}) => <Select label={label} value={given(name)} options={options} onChange={(value) => setSearch({ [name]: value })} />

type Trigger = { readonly trigger: string; readonly count: number; readonly limit: number }

/** How far each trigger of a pause has come; those at nothing are left out. */
export const Triggers = ({ of }: { readonly of: ReadonlyArray<Trigger> | null }): ComponentChildren => {
  if (of === null) return <Unknown />
  const begun = of.filter(({ count }) => count > 0)
  if (begun.length === 0) return <span class="none">none</span>
  return begun.map(({ count, limit, trigger }) => (
    <Meter key={trigger} label={wordOf(trigger)} used={count} limit={limit} />
  ))
}
