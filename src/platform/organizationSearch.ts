/**
 * Finds organizations for operators (docs/platform.md, 8.3): by words of the name and the contact's address, each by its
 * beginning; by id; by the id of a key; and by the beginning of a domain or an address that sends. Each condition has an
 * index.
 */
import type { SqlClient, Statement } from "effect/sql"

/** Longest text to search for, in characters. */
export const maximumSearchLength = 200

/** Most domains and addresses whose organizations one search looks at: the first by name. */
const maximumSenders = 1_000

/** ASCII characters that end a word; other alphabets have none of their own here. */
const separators = "[\\x01-\\x2f\\x3a-\\x40\\x5b-\\x60\\x7b-\\x7f]+"

/** The words of an organization's name and its contact, as the index has them. */
export const organizationWords = `to_tsvector('simple'::regconfig,
  regexp_replace(lower(name || ' ' || coalesce(email, '')), '${separators}', ' ', 'g'))`

/** Behind every text that begins so. */
const endOf = (prefix: string): string => `${prefix}\u{10ffff}`

/** The ids of the organizations that a text finds. */
export const foundBy = (sql: SqlClient.SqlClient, given: string): Statement.Fragment => {
  const text = given.trim()
  if (text.startsWith("org_")) return sql`select ${text}::text as id`
  if (text.startsWith("key_")) return sql`select organization_id as id from api_keys where id = ${text}`
  const name = text.toLowerCase()
  const senders = (table: string, column: string) => sql`(
    select organization_id as id from ${sql(table)} where ${sql(column)} >= ${name} and ${sql(column)} < ${endOf(name)}
    order by ${sql(column)} limit ${maximumSenders})`
  const words = sql`regexp_split_to_table(regexp_replace(${name}::text, ${separators}::text, ' ', 'g'), ' ')`
  return sql`
    select id from organizations where ${sql.literal(organizationWords)} @@ (
      select to_tsquery('simple', coalesce(string_agg(quote_literal(word) || ':*', ' & '), ''))
      from ${words} as word where word <> '')
    union ${senders("send_domains", "name")}
    union ${senders("send_senders", "email")}`
}
