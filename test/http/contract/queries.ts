/** Parameters of the query of every endpoint: unknown, repeated, missing, and out of bounds. */
import { describe, expect, it } from "vitest"
import { type Endpoint, endpoints, namesOf, type Parameter, typesOf } from "./endpoints.ts"
import { expectInvalid } from "./expected.ts"
import { givenFor } from "./given.ts"
import type { Account, Given, World } from "./world.ts"

/** The directory takes its key in the query too, and so does not say that there is no parameter. */
const takesParameters = (endpoint: Endpoint): boolean => namesOf(endpoint, "query").length > 0

const queryOf = ({ parameters }: Endpoint): ReadonlyArray<Parameter> => parameters.filter((one) => one.in === "query")

/** Texts that are no page size, as they stand in a query, and as the message quotes them. */
const noLimits = [
  ["0", "0"],
  ["101", "101"],
  ["-1", "-1"],
  ["1.5", "1.5"],
  ["50.0", "50.0"],
  ["abc", "abc"],
  ["1e1", "1e1"],
  ["0x10", "0x10"],
  ["010", "010"],
  ["NaN", "NaN"],
  ["%2B5", "+5"],
  ["%205", " 5"],
  ["5%0A", "5\n"],
  ["%D9%A3", "٣"],
  ["99999999999999999999", "99999999999999999999"],
  ["", ""]
] as const

const noOffsets = [
  ["-1", "-1"],
  ["0.5", "0.5"],
  ["abc", "abc"],
  ["1e3", "1e3"],
  ["00", "00"],
  ["null", "null"],
  ["", ""]
] as const

/** What is not from 0 on, of every parameter that is a whole number. */
const largest = "9007199254740991"

export const queriesSection = (world: () => World, main: () => Account): void => {
  /** Asks for what the endpoint takes, with other parameters in its query. */
  const asking = async (endpoint: Endpoint) => {
    const given = await givenFor(endpoint, main(), world())
    const own = Object.entries((given.query ?? {}) as Readonly<Record<string, string>>)
    return {
      own,
      ask: (query: NonNullable<Given["query"]>) => main().ask(endpoint, { ...given, query }),
      /** With one parameter in another way, or without it. */
      instead: (name: string, value: string | undefined) =>
        main().ask(endpoint, {
          ...given,
          query: [...own.filter(([other]) => other !== name), ...(value === undefined ? [] : [[name, value] as const])]
        })
    }
  }
  const readers = endpoints.filter(({ access }) => access === "key")

  describe("an unknown parameter is 400 and told with the nearest known one", () => {
    it.each(readers.map((endpoint) => [endpoint.name, endpoint] as const))("%s", async (_, endpoint) => {
      const { ask, own } = await asking(endpoint)
      const known = namesOf(endpoint, "query")
      const far = await ask([...own, ["wholly-other", "1"]])
      const list = takesParameters(endpoint) ? ` Known: ${known.join(", ")}.` : " There is no parameter here."
      expectInvalid(far, endpoint, `Unknown parameter "wholly-other".${list}`)
      for (const name of known.filter((one) => one.length > 3)) {
        const misspelt = `${name}e`
        if (known.includes(misspelt)) continue
        const near = await ask([...own, [misspelt, "1"]])
        expectInvalid(near, endpoint, `Unknown parameter "${misspelt}". Did you mean '${name}'?`)
      }
    })
  })

  describe("a parameter that is given twice is 400", () => {
    const repeatable = endpoints.flatMap((endpoint) =>
      queryOf(endpoint)
        .filter(({ schema }) => !typesOf(schema).includes("array"))
        .map(({ name }) => [`${endpoint.name} ${name}`, endpoint, name] as const)
    )
    it.each(repeatable)("%s", async (_, endpoint, name) => {
      const { ask, own } = await asking(endpoint)
      const others = own.filter(([other]) => other !== name)
      const values = own.find(([other]) => other === name)?.[1] ?? "1"
      const answer = await ask([...others, [name, values], [name, values]])
      expectInvalid(answer, endpoint, `The parameter '${name}' was given more than once.`)
    })
  })

  describe("a parameter that must be given is missed by its name", () => {
    const required = endpoints.flatMap((endpoint) =>
      queryOf(endpoint)
        .filter((one) => one.required)
        .map(({ name }) => [`${endpoint.name} ${name}`, endpoint, name] as const)
    )
    it.each(required)("%s", async (_, endpoint, name) => {
      const { instead } = await asking(endpoint)
      expectInvalid(
        await instead(name, undefined),
        endpoint,
        expect.stringMatching(new RegExp(`^Missing required parameter '${name}'\\.`))
      )
    })
  })

  describe("[platform 3.3] a page that is none is 400 and quoted", () => {
    const paged = endpoints.filter((endpoint) => namesOf(endpoint, "query").includes("limit"))
    it.each(paged.map((endpoint) => [endpoint.name, endpoint] as const))("%s", async (_, endpoint) => {
      const { instead } = await asking(endpoint)
      for (const [limit, shown] of noLimits) {
        const expected = "Expected an integer from 1 to 100"
        expectInvalid(
          await instead("limit", limit),
          endpoint,
          `Invalid parameter 'limit': ${JSON.stringify(shown)}. ${expected}.`
        )
      }
      if (!namesOf(endpoint, "query").includes("offset")) return
      for (const [offset, shown] of noOffsets) {
        const expected = "Expected an integer of at least 0"
        expectInvalid(
          await instead("offset", offset),
          endpoint,
          `Invalid parameter 'offset': ${JSON.stringify(shown)}. ${expected}.`
        )
      }
      for (const offset of ["9007199254740992", "99999999999999999999"])
        expectInvalid(
          await instead("offset", offset),
          endpoint,
          `Invalid parameter 'offset': "${offset}". Expected an integer of at most ${largest}.`
        )
      // A search is an event, which the other organization must not have.
      const account = await world().account()
      const given = await givenFor(endpoint, account, world())
      const behind = await account.ask(endpoint, { ...given, query: { ...(given.query as object), offset: largest } })
      expect(behind.status, behind.asked).toBe(200)
    })
  })

  describe("what is none of the values that a parameter has is 400 and quoted", () => {
    const enumerated = endpoints.flatMap((endpoint) =>
      queryOf(endpoint)
        .filter(({ schema }) => schema.enum !== undefined)
        .map(({ name }) => [`${endpoint.name} ${name}`, endpoint, name] as const)
    )
    it.each(enumerated)("%s", async (_, endpoint, name) => {
      const { instead } = await asking(endpoint)
      for (const value of ["other", ""])
        expectInvalid(await instead(name, value), endpoint, expect.stringContaining(`'${name}': "${value}"`))
    })
  })
}
