/**
 * A statement sent together with others ahead of it, as one packet that the server answers with one Sync (PostgreSQL protocol, "Pipelining"): where
 * one of them fails, the server leaves out those behind it. So BEGIN can go with the first statement of its transaction, and that one cannot
 * run outside of it. Of the statements ahead nothing is told but a failure.
 */
import { type Connection, type DatabaseError, Query } from "pg"

export interface QueryConfig {
  readonly name?: string | undefined
  readonly text: string
  readonly values: Array<string | Buffer | null>
  readonly rowMode?: "array"
}

/** What the driver's `Query` has beside its types. */
interface DriverQuery extends Query {
  readonly name: string | undefined
  handleCommandComplete(message: unknown, connection: Connection): void
  handleDataRow(message: unknown): void
  handleError(error: DatabaseError, connection: Connection): void
}

/** The driver's connection as its own queries use it; its types say otherwise. */
interface DriverConnection extends Pick<Connection, "stream"> {
  readonly parsedStatements: Readonly<Record<string, string>>
  parse(query: { readonly name: string; readonly text: string }): void
  bind(config: { readonly statement: string; readonly values: ReadonlyArray<string | Buffer | null> }): void
  execute(config: { readonly portal: string }): void
}

// the driver's own methods are what it calls at each message, but its types leave them out
const Base = Query as unknown as new (config: QueryConfig & { readonly queryMode: "extended" }) => DriverQuery
const submitAlone = Query.prototype.submit as unknown as (connection: Connection) => Error | null

/** Whether the connection has this text under this name. */
export const isPrepared = (connection: Connection, { name, text }: QueryConfig): boolean =>
  name !== undefined && (connection as unknown as DriverConnection).parsedStatements[name] === text

export class GroupedQuery extends Base {
  readonly #ahead: ReadonlyArray<QueryConfig>
  #unanswered: number

  constructor(query: QueryConfig, ahead: ReadonlyArray<QueryConfig>) {
    super({ ...query, queryMode: "extended" })
    this.#ahead = ahead
    this.#unanswered = ahead.length
  }

  override submit = (plain: Connection): Error | null => {
    const connection = plain as unknown as DriverConnection
    connection.stream.cork()
    try {
      for (const query of this.#ahead) {
        const statement = isPrepared(plain, query) ? query.name! : ""
        if (statement === "") connection.parse({ name: "", text: query.text })
        connection.bind({ statement, values: query.values })
        connection.execute({ portal: "" })
      }
      return submitAlone.call(this, plain)
    } finally {
      connection.stream.uncork()
    }
  }

  override handleCommandComplete(message: unknown, connection: Connection): void {
    if (this.#unanswered > 0) this.#unanswered--
    else super.handleCommandComplete(message, connection)
  }

  override handleDataRow(message: unknown): void {
    if (this.#unanswered === 0) super.handleDataRow(message)
  }
}
