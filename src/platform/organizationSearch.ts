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

/** The words of an organization's name and its contact, which the column `words` keeps: to make them takes long. */
export const organizationWords = `to_tsvector('simple'::regconfig,
  regexp_replace(lower(name || ' ' || coalesce(email, '')), '${separators}', ' ', 'g'))`

/** Behind every text that begins so. */
export const endOf = (prefix: string): string => `${prefix}\u{10ffff}`

/** The query of the words of a text, each by its beginning. No word has a sign that the query's language reads. */
const queryOf = (text: string): string =>
  text
    .split(/[^0-9A-Za-z\u0080-\u{10ffff}]+/u)
    .filter((word) => word !== "")
    .map((word) => `'${word}':*`)
    .join(" & ")

/**
 * Conditions on a row of organizations: the text finds those that fulfil one of them. They are apart, because the
 * database answers each by an index of its own, and common words by the newest organizations that have them.
 */
export const conditionsOf = (sql: SqlClient.SqlClient, given: string): ReadonlyArray<Statement.Fragment> => {
  const text = given.trim()
  if (text.startsWith("org_")) return [sql`id = ${text}`]
  if (text.startsWith("key_")) return [sql`id = (select organization_id from api_keys where id = ${text})`]
  const name = text.toLowerCase()
  // Ids of organizations are in the order of the database, those of senders by their bytes.
  const senders = (table: string, column: string) => sql`(
    select organization_id collate "default" from ${sql(table)} where ${sql(column)} >= ${name} and ${sql(column)} < ${endOf(name)}
    order by ${sql(column)} limit ${maximumSenders})`
  return [
    sql`words @@ to_tsquery('simple'::regconfig, lower(${queryOf(text)}::text))`,
    sql`id in (${senders("send_domains", "name")} union ${senders("send_senders", "email")})`
  ]
}
