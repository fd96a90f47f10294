/** Renders lists as tables with pages. */
import type { ComponentChildren } from "preact"
import type { Page, Paged } from "../usePages.ts"
import { Fault, Loading } from "./basics.tsx"

export interface Column<Item> {
  readonly head: string
  readonly cell: (item: Item) => ComponentChildren
  /** Aligns figures under each other. */
  readonly isFigure?: boolean
  /** The head of a row. */
  readonly isName?: boolean
}

export const Table = <Item,>({
  caption,
  columns,
  items,
  keyOf
}: {
  readonly caption: string
  readonly columns: ReadonlyArray<Column<Item>>
  readonly items: ReadonlyArray<Item>
  readonly keyOf: (item: Item) => string
}) => (
  <div class="table">
    <table>
      <caption class="hidden">{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ head, isFigure }) => (
            <th key={head} scope="col" class={isFigure ? "figure" : undefined}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={keyOf(item)}>
            {columns.map(({ cell, head, isFigure, isName }) =>
              isName ? (
                <th key={head} scope="row" data-head={head}>
                  {cell(item)}
                </th>
              ) : (
                <td key={head} data-head={head} class={isFigure ? "figure" : undefined}>
                  <div>{cell(item)}</div>
                </td>
              )
            )}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

/** How many items a list has, in words. */
const totalOf = ({ pagination: { total } }: Page<unknown>): string =>
  total === undefined ? "" : `${total.isExact ? "" : "more than "}${total.count.toLocaleString()} in all`

/** A list page by page, with what it says when it is empty. */
export const PagedTable = <Item,>({
  paged,
  empty,
  ...table
}: {
  readonly paged: Paged<Item>
  readonly empty: ComponentChildren
  readonly caption: string
  readonly columns: ReadonlyArray<Column<Item>>
  readonly keyOf: (item: Item) => string
}) => {
  const { data, error, newer, number, older, reload } = paged
  if (data === undefined) return error === undefined ? <Loading /> : <Fault error={error} retry={reload} />
  const isEmpty = data.data.length === 0
  return (
    <>
      {error !== undefined && <Fault error={error} retry={reload} />}
      {!isEmpty && totalOf(data) !== "" && (
        <p class="note" role="status">
          {totalOf(data)}
        </p>
      )}
      {!isEmpty && <Table {...table} items={data.data} />}
      {isEmpty && older === undefined && number === 1 && empty}
      {isEmpty && (older !== undefined || number > 1) && (
        <p class="note">Nothing on this page. There may be more further back.</p>
      )}
      {(newer !== undefined || older !== undefined) && (
        <nav class="pager" aria-label={`Pages of ${table.caption}`}>
          <button type="button" disabled={newer === undefined} onClick={newer}>
            Newer
          </button>
          <span>Page {number}</span>
          <button type="button" disabled={older === undefined} onClick={older}>
            Older
          </button>
        </nav>
      )}
    </>
  )
}
