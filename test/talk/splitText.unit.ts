/** Rules on texts, voices and the programs' lists. */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { readable, readListing, wordsPerMinuteOf } from "../../src/talk/espeak/EspeakEngine.ts"
import { charactersOf, splitText } from "../../src/talk/splitText.ts"
import { unknownVoice } from "../../src/talk/voices.ts"

describe("a text that is cut into parts", () => {
  it.each([
    ["is left alone where it is short", "One. Two.", 20, ["One. Two."]],
    ["is cut between sentences", "One two. Three four. Five.", 22, ["One two. Three four. ", "Five."]],
    ["is cut between words where a sentence is long", "a. one two three four", 12, ["a. one two ", "three four"]],
    ["is cut anywhere where a word is long", "abcdefgh", 3, ["abc", "def", "gh"]],
    ["counts characters of two units once", "😀😀😀😀", 2, ["😀😀", "😀😀"]],
    ["knows full stops without a blank", "一二三。四五六。七", 6, ["一二三。", "四五六。七"]],
    ["has no part of blanks", `abc${" ".repeat(6)}def`, 4, ["abc ", " def"]]
  ])("%s", (_, text, maximum, parts) => {
    expect(splitText(text, maximum)).toEqual(parts)
  })

  const word = Arbitrary.schema(
    Schema.Literals(["a", "one", "seventeen", "end.", "end! ", "。", "\n", " ", "😀", "  "])
  )
  it.effect.prop(
    "has parts within the bound, and all of its words in their order",
    { words: Arbitrary.array(word, { maxLength: 40 }), maximum: Arbitrary.schema(Schema.Literals([1, 2, 7, 30])) },
    ({ maximum, words }) =>
      Effect.sync(() => {
        const text = words.join("")
        const parts = splitText(text, maximum)
        for (const part of parts) expect(charactersOf(part)).toBeLessThanOrEqual(maximum)
        expect(parts.join("").replaceAll(/\s/g, "")).toBe(text.replaceAll(/\s/g, ""))
      }),
    { arbitrary: { runs: 300 } }
  )
})

describe("the list of voices of espeak-ng", () => {
  it("is read with second voices of a language, and names that have blanks", () => {
    const listing = `Pty Language       Age/Gender VoiceName          File                 Other Languages
 5  af              --/M      Afrikaans          gmw/af
 5  chr-US-Qaaa-x-west --/M      Cherokee_          iro/chr
 5  cmn             --/-      Chinese_(Mandarin,_latin_as_English) sit/cmn              (zh-cmn 5)(zh 5)
 5  yue             --/F      Chinese_(Cantonese) sit/yue              (zh-yue 5)(zh 8)
 5  yue             --/M      Chinese_(Cantonese,_latin_as_Jyutping) sit/yue-Latn-jyutping (zh-yue 5)(zh 8)
`
    expect(readListing(listing)).toEqual([
      { id: "af", name: "Afrikaans", language: "af", gender: "male", file: "gmw/af" },
      { id: "chr-us-qaaa-x-west", name: "Cherokee", language: "chr-US-Qaaa-x-west", gender: "male", file: "iro/chr" },
      { id: "cmn", name: "Chinese (Mandarin, latin as English)", language: "cmn", gender: null, file: "sit/cmn" },
      { id: "yue", name: "Chinese (Cantonese)", language: "yue", gender: "female", file: "sit/yue" },
      {
        id: "yue-latn-jyutping",
        name: "Chinese (Cantonese, latin as Jyutping)",
        language: "yue",
        gender: "male",
        file: "sit/yue-Latn-jyutping"
      }
    ])
  })

  it("has a speed in words a minute, never below what the program speaks", () => {
    expect([0.25, 0.46, 1, 2, 4].map(wordsPerMinuteOf)).toEqual([80, 81, 175, 350, 700])
  })

  it("gets texts without commands and phonemes", () => {
    expect(readable("a\u0000b\u0001c\td\ne [[f]] [[[g")).toBe("a b c\td\ne [ [f]] [ [ [g")
  })
})

describe("a voice that nobody knows", () => {
  const voices = (...ids: ReadonlyArray<string>) => ids.map((id) => ({ id, name: id, language: id, gender: null }))
  it.each([
    ["en", "en-gb"],
    ["en_us", "en-us"],
    ["EN-US", "en-us"],
    ["en-uss", "en-us"],
    ["de-CH", "de"]
  ])("%s was most likely %s", (given, near) => {
    expect(unknownVoice(given, voices("an", "de", "en-gb", "en-us"))).toBe(
      `Unknown voice "${given}". Did you mean '${near}'?`
    )
  })

  it("near none is answered with all of them, or with where they are listed", () => {
    expect(unknownVoice("xxxxxx", voices("a", "b"))).toBe('Unknown voice "xxxxxx". Known: a, b.')
    const many = voices(...Array.from({ length: 13 }, (_, at) => `v${at}`))
    expect(unknownVoice("xxxxxx", many)).toBe('Unknown voice "xxxxxx". GET /v1/talk/voices lists them.')
  })
})
