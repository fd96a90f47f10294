/** How a console's session is shown by a request and set by an answer (docs/platform.md, 12.1). */
import { describe, expect, it } from "vitest"
import { cookieText, givenSession, operatorCookie } from "../../src/platform/consoleCookie.ts"
import { givenKey } from "../../src/platform/layerAccess.ts"

const session = "cs_test_abcdefghijklmnopqrstuv"
const key = "sk_test_abcdefghijklmnopqrstuv"
const own = { "x-sluice-console": "1" }

describe("the cookie of a session", () => {
  it.each([
    ["alone", `sluice_session=${session}`, session],
    ["among others", `a=b; sluice_session=${session}; c=d`, session],
    ["of operators", `sluice_operator=${session}`, undefined],
    ["with a key in it", `sluice_session=${key}`, undefined],
    ["under a longer name", `xsluice_session=${session}`, undefined],
    ["without a value", "sluice_session", undefined]
  ])("counts %s", (_, cookie, expected) => {
    expect(givenSession({ ...own, cookie })).toBe(expected)
  })

  it("counts only together with the header that no page of another site can send", () => {
    expect(givenSession({ cookie: `sluice_session=${session}` })).toBeUndefined()
    expect(givenSession({ "x-sluice-console": "", cookie: `sluice_session=${session}` })).toBe(session)
  })

  it("has a name of its own for operators", () => {
    expect(givenSession({ ...own, cookie: `sluice_operator=${session}` }, operatorCookie)).toBe(session)
  })

  it("is out of reach of scripts, and of other sites, and of connections that can be read", () => {
    const set = (origin: string | undefined, seconds = 60) => cookieText("sluice_session", session, { origin, seconds })
    expect(set("http://localhost:8080")).toBe(
      `sluice_session=${session}; Path=/; Max-Age=60; HttpOnly; SameSite=Strict`
    )
    expect(set("https://api.example.com")).toMatch(/; HttpOnly; SameSite=Strict; Secure$/)
    expect(set(undefined)).not.toContain("Secure")
    expect(set(undefined, 0)).toContain("Max-Age=0")
  })
})

describe("the key of a request", () => {
  const cookie = `sluice_session=${session}`

  it("is the session's where no other form is there", () => {
    expect(givenKey({ ...own, cookie }, undefined)).toBe(session)
    expect(givenKey({ ...own, cookie }, {})).toBe(session)
    expect(givenKey({ cookie }, undefined)).toBeNull()
  })

  it("is that of another form before the cookie", () => {
    expect(givenKey({ ...own, cookie, authorization: `Bearer ${key}` }, undefined)).toBe(key)
    expect(givenKey({ ...own, cookie, "x-api-key": key }, undefined)).toBe(key)
    expect(givenKey({ ...own, cookie }, { apiKey: key })).toBe(key)
    expect(givenKey({ ...own, cookie, authorization: "Bearer " }, undefined)).toBe("")
  })

  it.each([
    ["as a bearer", { authorization: `Bearer ${session}` }, undefined],
    ["in X-API-Key", { "x-api-key": session }, undefined],
    ["as a parameter", {}, { apiKey: session }]
  ])("is nothing where a session's text is given %s", (_, headers, query) => {
    expect(givenKey({ ...own, ...headers }, query)).toBe("")
  })
})
