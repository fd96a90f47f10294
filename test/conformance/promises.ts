/**
 * What a document promises, section by section, each promise with the tests that hold the platform to it. A promise without a test fails, and so does a test that was renamed or taken away. The
 * promises of documents of this repository stand for every section of theirs (`promises.unit.ts`); those of the documents that it was built from are in this folder, in our own words.
 */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"

/** A file below `test/`, and the beginning of a test's or of a group's name in it. */
export type Place = readonly [file: string, name: string]

/** By the name of a section of the document. */
export type Promises = Readonly<
  Record<string, ReadonlyArray<readonly [promise: string, ...places: ReadonlyArray<Place>]>>
>

/** Whether a text behind a parenthesis, or at the beginning of a line, begins with the name. */
export const isNamed = ([file, name]: Place): boolean => {
  const source = readFileSync(new URL(`../${file}`, import.meta.url), "utf8")
  const escaped = name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")
  return new RegExp(`(?:^ *|\\()["\`]${escaped}`, "m").test(source)
}

/** A test for each promise of a section. */
export const describePromises = (section: string, promises: Promises[string]): void => {
  describe(section, () => {
    for (const [promise, ...places] of promises)
      it(promise, () => {
        expect(places).not.toEqual([])
        expect(places.filter((place) => !isNamed(place))).toEqual([])
      })
  })
}

/** The same for all sections of a document that is not in this repository. */
export const describeDocument = (title: string, sections: Promises): void => {
  describe(title, () => {
    for (const [section, promises] of Object.entries(sections)) describePromises(section, promises)
    it("is promised once each", () => {
      const all = Object.values(sections).flatMap((promises) => promises.map(([promise]) => promise))
      expect(all.filter((promise, index) => all.indexOf(promise) !== index)).toEqual([])
    })
  })
}
