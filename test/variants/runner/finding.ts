/** The report of a child process about its variant, as the last line of its output. */
export type Finding =
  | { readonly _tag: "Noticed" /** The test or the checker, and where. */; readonly by: string }
  | { readonly _tag: "Unnoticed" }
  /** The child could not say: the variant does not compile, a file is missing. Never a success. */
  | { readonly _tag: "Unusable"; readonly message: string }

/** What the line begins with. */
export const findingMark = "finding: "

/** The finding in a child's output. */
export const findingIn = (output: string): Finding | undefined => {
  const line = output.split("\n").findLast((text) => text.startsWith(findingMark))
  return line === undefined ? undefined : (JSON.parse(line.slice(findingMark.length)) as Finding)
}
