/**
 * Names for prepared statements, one map for all connections of a pool: PostgreSQL keeps a statement's plan under its
 * name for the life of the connection, so a text that comes again is neither parsed nor planned again. Bounded, since
 * SQL with a varying number of placeholders would otherwise grow on both sides without end.
 */

/** Distinct texts that get a name; later ones run unprepared. */
export const maxPreparedStatements = 1_000

/** Longer texts are generated ones, unlikely to come again, and not worth keeping. */
export const maxPreparedTextLength = 8_192

export class StatementNames {
  private readonly names = new Map<string, string>()
  private count = 0

  /** The name to run a text under, undefined to run it unprepared. */
  nameOf(text: string): string | undefined {
    const known = this.names.get(text)
    if (known !== undefined) return known
    if (this.names.size >= maxPreparedStatements || text.length > maxPreparedTextLength) return undefined
    if (text.includes("\0")) return undefined
    return this.assign(text)
  }

  /** The plan under the old name no longer fits the tables: the next use is prepared afresh. */
  renew(text: string): void {
    if (this.names.has(text)) this.assign(text)
  }

  private assign(text: string): string {
    const name = `sluice_${++this.count}`
    this.names.set(text, name)
    return name
  }
}
