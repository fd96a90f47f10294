/** Names the thing of an act, with a link to it where the operator's console shows it. */
import { Link } from "../ui/basics.tsx"

const places: ReadonlyArray<readonly [pattern: RegExp, place: (id: string) => string]> = [
  [/^org_\w+$/, (id) => `/organizations/${id}`],
  [/^in_\w+$/, (id) => `/invoices/${id}`],
  [/^key_\w+$/, (id) => `/organizations?search=${id}`],
  [/^\d{1,4}$/, (id) => `/partitions/${id}`]
]

export const SubjectLink = ({ id }: { readonly id: string }) => {
  const place = places.find(([pattern]) => pattern.test(id))?.[1](id)
  return place === undefined ? (
    <bdi class="mono">{id}</bdi>
  ) : (
    <span class="mono">
      <Link to={place}>{id}</Link>
    </span>
  )
}
