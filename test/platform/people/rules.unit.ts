/** Decides about members and their links (docs/platform.md, 2.13): roles, acts on members, and links, with a naive model. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { grants, type Role, roles, scopes } from "../../../src/platform/model.ts"
import {
  addressLimits,
  isGoodLink,
  linkLifeMillis,
  linkWaitMillis,
  type MemberAct,
  type Membership,
  maximumMembers,
  mayAsk,
  refusalOf,
  rightsOf,
  seesContents
} from "../../../src/platform/people/rules.ts"
import { often } from "../../support/often.ts"

const given = (members: ReadonlyArray<Membership>) => ({
  // biome-ignore lint/suspicious/noThenProperty: Nothing awaits it.
  when: (act: MemberAct) => ({ then: (refusal: string | undefined) => expect(refusalOf(members, act)).toBe(refusal) })
})

const member = (id: string, role: Role, isJoined = true): Membership => ({
  id,
  email: `${id}@one.test`,
  role,
  isJoined
})

describe("the rights of a role", () => {
  const opens = (role: Role) => {
    const granted = new Set<string>(rightsOf[role].scopes)
    return scopes.filter((scope) => !scope.endsWith("*") && grants(granted, scope))
  }
  const single = scopes.filter((scope) => !scope.endsWith("*"))

  it("given a developer, then all scopes but those for people and the plan are open", () => {
    const closed = single.filter((scope) => !opens("developer").includes(scope))
    expect(closed).toEqual(["platform:billing:manage", "platform:people:manage"])
  })

  it("given a viewer, then scopes that change something are closed, and so are other methods than reads", () => {
    expect(opens("viewer").filter((scope) => /manage|speech/.test(scope))).toEqual([])
    expect(opens("viewer")).toContain("platform:events:read")
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      expect(mayAsk("viewer", { method, isOpen: false })).toBe(false)
      // A viewer may end a session of the own account.
      expect(mayAsk("viewer", { method, isOpen: true })).toBe(true)
      expect(mayAsk("developer", { method, isOpen: false })).toBe(true)
    }
    for (const method of ["GET", "HEAD"]) expect(mayAsk("viewer", { method, isOpen: false })).toBe(true)
  })

  it("given a viewer, then contents of mail are closed; developers, owners and keys see them", () => {
    expect([...roles, undefined].map(seesContents)).toEqual([true, true, false, true])
  })

  it("given an owner, then everything is open", () => {
    expect(opens("owner")).toEqual(single)
  })
})

describe("an act on members", () => {
  it("given the last owner, when the role is made less, then it is refused", () => {
    given([member("ann", "owner"), member("ben", "developer")])
      .when({ _tag: "SetRole", id: "ann", role: "developer" })
      .then("LastOwner")
  })

  it("given the last owner, when it is removed, then it is refused", () => {
    given([member("ann", "owner")])
      .when({ _tag: "Remove", id: "ann" })
      .then("LastOwner")
  })

  it("given another owner who has not accepted yet, when the first one is removed, then it is refused", () => {
    given([member("ann", "owner"), member("ben", "owner", false)])
      .when({ _tag: "Remove", id: "ann" })
      .then("LastOwner")
  })

  it("given two owners, when one is removed or made less, then nothing stands against it", () => {
    const both = given([member("ann", "owner"), member("ben", "owner")])
    both.when({ _tag: "Remove", id: "ann" }).then(undefined)
    both.when({ _tag: "SetRole", id: "ben", role: "viewer" }).then(undefined)
  })

  it("given an owner who has not accepted, when the invitation is revoked, then nothing stands against it", () => {
    given([member("ann", "owner", false)])
      .when({ _tag: "Remove", id: "ann" })
      .then(undefined)
  })

  it("given an address, when it is invited again, then it is a member already", () => {
    given([member("ann", "owner")])
      .when({ _tag: "Invite", email: "ann@one.test", role: "viewer" })
      .then("AlreadyMember")
  })

  it("given as many members as fit, when one more is invited, then they are too many", () => {
    given(Array.from({ length: maximumMembers }, (_, at) => member(`m${at}`, "viewer")))
      .when({ _tag: "Invite", email: "new@one.test", role: "viewer" })
      .then("TooManyMembers")
  })

  it("given a member who has joined, when the invitation is sent again, then it is refused", () => {
    given([member("ann", "owner")])
      .when({ _tag: "Resend", id: "ann" })
      .then("AlreadyJoined")
    given([member("ben", "owner", false)])
      .when({ _tag: "Resend", id: "ben" })
      .then(undefined)
    given([]).when({ _tag: "Resend", id: "ben" }).then("NoSuchMember")
  })

  const Step = Schema.Struct({
    who: Schema.Literals(["ann", "ben", "cara"]),
    what: Schema.Literals(["invite", "join", "remove", "owner", "developer", "viewer"])
  })

  it.prop(
    "once an organization has an owner it keeps one, and everything else is done",
    { steps: Schema.Array(Step).check(Schema.isMaxLength(30)) },
    ({ steps }) => {
      let members: ReadonlyArray<Membership> = []
      // The model: who has which role, and has joined.
      const model = new Map<string, { role: Role; isJoined: boolean }>()
      const owners = () => [...model].filter(([, { isJoined, role }]) => isJoined && role === "owner").map(([id]) => id)
      const without = (id: string) => members.filter((one) => one.id !== id)
      for (const { what, who } of steps) {
        const known = model.get(who)
        const isLast = owners().length === 1 && owners()[0] === who
        if (what === "invite") {
          const refusal = refusalOf(members, { _tag: "Invite", email: `${who}@one.test`, role: "owner" })
          expect(refusal).toBe(known === undefined ? undefined : "AlreadyMember")
          if (refusal !== undefined) continue
          model.set(who, { role: "owner", isJoined: false })
          members = [...members, member(who, "owner", false)]
        } else if (what === "join") {
          if (known === undefined) continue
          model.set(who, { ...known, isJoined: true })
          members = members.map((one) => (one.id === who ? { ...one, isJoined: true } : one))
        } else if (what === "remove") {
          const refusal = refusalOf(members, { _tag: "Remove", id: who })
          expect(refusal).toBe(known === undefined ? "NoSuchMember" : isLast ? "LastOwner" : undefined)
          if (refusal !== undefined) continue
          model.delete(who)
          members = without(who)
        } else {
          const refusal = refusalOf(members, { _tag: "SetRole", id: who, role: what })
          const isLess = isLast && what !== "owner"
          expect(refusal).toBe(known === undefined ? "NoSuchMember" : isLess ? "LastOwner" : undefined)
          if (refusal !== undefined || known === undefined) continue
          model.set(who, { ...known, role: what })
          members = members.map((one) => (one.id === who ? { ...one, role: what } : one))
        }
      }
    },
    { arbitrary: { runs: often(400) } }
  )
})

describe("a link", () => {
  const made = 1_000_000

  it("given one that is neither used nor replaced, then it is good until its end, and not at it", () => {
    const link = { expiresAt: made + linkLifeMillis.sign_in, endedAt: null }
    expect(isGoodLink(link, made)).toBe(true)
    expect(isGoodLink(link, link.expiresAt - 1)).toBe(true)
    expect(isGoodLink(link, link.expiresAt)).toBe(false)
  })

  it("given one that was used, then it is not good, long before its end", () => {
    expect(isGoodLink({ expiresAt: made + linkLifeMillis.invitation, endedAt: made }, made + 1)).toBe(false)
  })

  it("lives seven days as an invitation, and fifteen minutes to sign in", () => {
    expect(linkLifeMillis).toEqual({ invitation: 604_800_000, sign_in: 900_000 })
  })

  it("given three links for an address, when a fourth is asked for, then it waits for the first one's quarter of an hour", () => {
    const wait = (now: number) => linkWaitMillis(addressLimits.sign_in, [made, made + 60_000, made + 120_000], now)
    expect(wait(made + 120_000)).toBe(780_000)
    expect(wait(made + 900_000)).toBe(0)
  })

  it.prop(
    "is refused exactly where some span would hold too many",
    { gaps: Schema.Array(Schema.Literals([0, 1, 60_000, 299_999, 300_000, 900_000])).check(Schema.isMaxLength(60)) },
    ({ gaps }) => {
      const kept: Array<number> = []
      let now = made
      for (const gap of gaps) {
        now += gap
        // The model counts each span anew.
        const isFull = addressLimits.sign_in.some(
          ({ links, windowMillis }) => kept.filter((at) => now - at < windowMillis).length >= links
        )
        const wait = linkWaitMillis(addressLimits.sign_in, kept, now)
        expect(wait > 0).toBe(isFull)
        if (wait > 0) expect(linkWaitMillis(addressLimits.sign_in, kept, now + wait)).toBe(0)
        else kept.push(now)
      }
    },
    { arbitrary: { runs: often(200) } }
  )
})
