/**
 * Judges the risk of a domain by its name (docs/platform.md, 9.8): its top-level domain, a label in two scripts, a word
 * of a brand. Pure.
 */
import { domainToUnicode } from "node:url"

/**
 * Length in letters from which a brand word counts inside other letters. Shorter ones are part of many innocent words.
 */
const longBrandWord = 6

/**
 * Top-level domains with a large share of abused names, by public statistics of abuse; most are sold for little or
 * nothing.
 */
export const riskyTopLevelDomains: ReadonlySet<string> = new Set(
  (
    "accountant autos bar beauty best bid boats bond buzz cam casa cf cfd click country cricket cyou date download " +
    "faith fit ga gdn gq hair icu ink kim lat link live loan lol makeup men ml mom monster mov pics party " +
    "pw quest racing rest review sbs science skin stream support surf tk top trade uno wang webcam win work xin xyz yachts zip"
  ).split(" ")
)

/** Scripts that names of domains are written in; all others are one. */
const scripts = (
  "Latin Greek Cyrillic Armenian Georgian Hebrew Arabic Thaana Ethiopic Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada " +
  "Malayalam Sinhala Thai Lao Tibetan Myanmar Khmer Han Hiragana Katakana Hangul Bopomofo"
)
  .split(" ")
  .map((name) => ({ name, has: new RegExp(`\\p{Script=${name}}`, "u") }))

/** Digits, hyphens and accents, which every script has. */
const shared = /[\p{Script=Common}\p{Script=Inherited}]/u

/** Scripts that one language is written in together. */
const writtenTogether: ReadonlyArray<ReadonlySet<string>> = [
  new Set(["Latin", "Han", "Hiragana", "Katakana"]),
  new Set(["Latin", "Han", "Bopomofo"]),
  new Set(["Latin", "Han", "Hangul"])
]

/** Whether a label, not in punycode, has letters of scripts that no language is written in together. */
const isMixed = (label: string): boolean => {
  const used = new Set<string>()
  for (const letter of label)
    if (!shared.test(letter)) used.add(scripts.find(({ has }) => has.test(letter))?.name ?? "another")
  return used.size > 1 && !writtenTogether.some((together) => [...used].every((script) => together.has(script)))
}

/** Whether one label of a domain mixes scripts; each may have its own. */
export const hasMixedScripts = (domain: string): boolean => domainToUnicode(domain).split(".").some(isMixed)

export const hasRiskyTopLevelDomain = (domain: string): boolean =>
  riskyTopLevelDomains.has(domain.slice(domain.lastIndexOf(".") + 1))

/** Letters and digits that pass for others at a glance. */
const lookalikes: Readonly<Record<string, string>> = {
  "0": "o",
  "1": "l",
  "3": "e",
  "4": "a",
  "5": "s",
  "7": "t",
  а: "a",
  е: "e",
  і: "i",
  о: "o",
  р: "p",
  с: "c",
  у: "y",
  х: "x",
  α: "a",
  ο: "o"
}

/** A text in small letters, without accents, and with the letters that others pass for. */
const plain = (text: string): string =>
  Array.from(
    text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase(),
    (letter) => lookalikes[letter] ?? letter
  ).join("")

/** Whether a domain has one of these words: between dots and hyphens, and a long one anywhere. */
export const hasBrandWord = (domain: string, brandWords: ReadonlyArray<string>): boolean => {
  const labels = plain(domainToUnicode(domain)).split(".")
  const parts = new Set(labels.flatMap((label) => label.split("-")))
  return brandWords.some((given) => {
    const word = plain(given)
    return (
      parts.has(word) ||
      (word.length >= longBrandWord && labels.some((label) => label.replaceAll("-", "").includes(word)))
    )
  })
}
