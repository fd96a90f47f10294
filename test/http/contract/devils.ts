/** The known devils, and how many inputs are tried at once. */
import { expect } from "vitest"

/** Texts that have broken a program somewhere. */
export const devils: ReadonlyArray<string> = [
  "",
  " ",
  "0",
  "-0",
  "-1",
  "1.5",
  "1e309",
  "-1e309",
  "NaN",
  "Infinity",
  "null",
  "undefined",
  "true",
  "[]",
  "{}",
  "9007199254740991",
  "9007199254740993",
  "2147483648",
  "18446744073709551616",
  "9".repeat(400),
  "٣",
  "２１２",
  "𝟚𝟙𝟚",
  "Ⅻ",
  "ﬁ",
  "İ",
  "ß",
  "e\u0301",
  "\u0000",
  "212\u0000",
  "\u202e212",
  "\ufeff212",
  "\u2028",
  "\r\nX-Injected: yes",
  "\\",
  "\"'`",
  "../../../etc/passwd",
  "..%2f..%2f",
  "%",
  "%00",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "'; DROP TABLE organizations; --",
  "' OR '1'='1",
  "1; SELECT pg_sleep(30)",
  "$1",
  "\\'; --",
  "/* */",
  "\u0024{7*7}",
  "{{7*7}}",
  "<script>alert(1)</script>",
  "a".repeat(5_000),
  "é".repeat(1_000),
  "🧨"
]

/** Bytes after a `%` and the like that are no UTF-8, or no escape at all. */
export const badEscapes = [
  "%",
  "%2",
  "%zz",
  "%ff",
  "%c0%af",
  "%e2%82",
  "%ed%a0%80",
  "%f8%88%80%80%80",
  "%u0041",
  "%00",
  "%80"
]

/** Requests in flight at once. */
const concurrency = 16

/** Runs every input and lists all complaints, so that one fault does not hide the next. */
export const inBatches = async <A>(inputs: ReadonlyArray<A>, run: (input: A) => Promise<unknown>): Promise<void> => {
  const complaints: Array<string> = []
  const guarded = (input: A) =>
    run(input).catch((cause: unknown) => {
      complaints.push(cause instanceof Error ? cause.message : String(cause))
    })
  for (let at = 0; at < inputs.length; at += concurrency)
    await Promise.all(inputs.slice(at, at + concurrency).map(guarded))
  expect(complaints).toEqual([])
}
