/** Rules of a target's URL, and the check of its address at the moment of connecting, on real sockets. */
import { createServer, request, type Server } from "node:http"
import { request as secureRequest } from "node:https"
import { type AddressInfo, connect, type LookupFunction } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { refusedAddressClass } from "../../../src/webhooks/target/addresses.ts"
import {
  checkUrl,
  makeTargetGuard,
  maximumUrlLength,
  type ResolvedAddress,
  type TargetPolicy,
  TargetRefused,
  targetPolicies
} from "../../../src/webhooks/target/targets.ts"

const verdict = (url: unknown, policy: TargetPolicy = "public") => {
  const checked = checkUrl(url, policy)
  return Result.isSuccess(checked) ? "accepted" : checked.failure.reason
}
const message = (url: unknown, policy: TargetPolicy = "public") => {
  const checked = checkUrl(url, policy)
  return Result.isSuccess(checked) ? "accepted" : checked.failure.message
}

describe("the URL", () => {
  it.each([
    "https://example.com",
    "https://example.com/hook?a=b#c",
    "https://example.com:8443/hook",
    "HTTPS://Example.com/",
    "https://bücher.example/hook",
    "https://example.com./",
    "https://93.184.215.14/",
    "https://[2606:4700:4700::1111]:9443/",
    "https://example.com/a@b:c"
  ])("%s is accepted under either policy", (url) => {
    for (const policy of targetPolicies) expect(verdict(url, policy)).toBe("accepted")
  })

  it.each([[undefined], [null], [""]])("%j: url is required", (url) => {
    expect(message(url)).toBe("url is required")
    expect(verdict(url)).toBe("missing")
  })

  it.each([
    "http://example.com",
    "ftp://example.com",
    "example.com",
    "https:example.com",
    "//example.com",
    " https://a.de",
    "javascript:0",
    "ws://a.de"
  ])("%s: Webhook URL must use HTTPS, under either policy", (url) => {
    for (const policy of targetPolicies) expect(message(url, policy)).toBe("Webhook URL must use HTTPS")
  })

  it.each([
    "http://localhost:3000/hook",
    "http://app.localhost",
    "http://127.0.0.1:8080",
    "http://[::1]/",
    "http://127.1",
    "http://0x7f.1",
    "http://[::ffff:127.0.0.1]"
  ])("%s is accepted where any target is, and only there", (url) => {
    expect(verdict(url, "any")).toBe("accepted")
    expect(message(url, "public")).toBe("Webhook URL must use HTTPS")
  })

  it.each([
    "http://10.0.0.1",
    "http://localhost.example.com",
    "http://notlocalhost",
    "http://127.0.0.1.example.com",
    "http://[fe80::1]",
    "http://0.0.0.0"
  ])("%s is no loopback host, so plain http is refused even where any target is allowed", (url) =>
    expect(message(url, "any")).toBe("Webhook URL must use HTTPS"))

  it.each([
    "https://user@example.com",
    "https://user:word@example.com",
    "https://:word@example.com",
    "https://example.com@10.0.0.1/"
  ])("%s has credentials", (url) => {
    for (const policy of targetPolicies) expect(verdict(url, policy)).toBe("credentials")
    expect(message(url)).not.toContain("word@")
  })

  it.each([
    "https://",
    "https:///example.com",
    "https://a b",
    "https://exa\tmple.com",
    "https://example.com\\@10.0.0.1",
    "https://[::1",
    "https://256.1.1.1",
    "https://a:99999",
    "https://exa%00mple.com",
    "https://example.com/\n",
    "https:\\\\example.com",
    "https://."
  ])("%j is malformed or has no https", (url) => expect(["malformed", "not_https"]).toContain(verdict(url)))

  it("is no text", () => {
    for (const url of [1, {}, [], ["https://example.com"], true]) expect(verdict(url)).toBe("malformed")
  })

  it("has an upper length", () => {
    const url = (length: number) => "https://example.com/".padEnd(length, "a")
    expect(verdict(url(maximumUrlLength))).toBe("accepted")
    expect(verdict(url(maximumUrlLength + 1))).toBe("too_long")
  })
})

describe("the port", () => {
  it.each([80, 443, 444, 3000, 8080, 8443, 10081, 65535])("%d is accepted", (port) =>
    expect(verdict(`https://example.com:${port}/`)).toBe("accepted"))
  it.each([0, 1, 22, 25, 53, 110, 143, 587, 993, 2049, 5060, 6000, 6667, 10080])("%d is refused", (port) => {
    expect(verdict(`https://example.com:${port}/`)).toBe("port")
    expect(message(`http://localhost:${port}/`, "any")).toContain(String(port))
  })
  it("of other protocols is refused wherever fetch refuses it", async () => {
    // Nothing listens on these; fetch fails with "bad port" before it connects.
    for (const port of [
      1, 7, 21, 23, 69, 137, 161, 427, 512, 548, 601, 636, 989, 1719, 3659, 4045, 4190, 6566, 6679, 6697
    ]) {
      const refusal = await fetch(`http://127.0.0.1:${port}/`).then(
        () => "answered",
        (error) => String(error.cause)
      )
      expect(refusal, String(port)).toContain("bad port")
      expect(verdict(`https://example.com:${port}/`), String(port)).toBe("port")
    }
  })
})

const opened = (url: string, policy: TargetPolicy = "public") => {
  const result = makeTargetGuard(policy).open(url)
  return Result.isSuccess(result) ? "open" : result.failure._tag
}

describe("a host that is an address", () => {
  it.each([
    "https://127.0.0.1/",
    "https://2130706433/",
    "https://0x7f.1/",
    "https://0177.0.0.1/",
    "https://127.0.0.1./",
    "https://10.1.2.3:8443/",
    "https://169.254.169.254/latest",
    "https://[::1]/",
    "https://[::ffff:10.0.0.1]/",
    "https://[64:ff9b::a00:1]/",
    "https://[2002:a00:1::]/",
    "https://[fe80::1]/",
    "https://0/"
  ])("%s is refused before connecting, and open where any target is", (url) => {
    expect(opened(url)).toBe("TargetRefused")
    expect(opened(url, "any")).toBe("open")
  })
  it.each([
    "https://8.8.8.8/",
    "https://[2606:4700::1111]/",
    "https://[::ffff:8.8.8.8]/",
    "https://example.com/"
  ])("%s is open", (url) => expect(opened(url)).toBe("open"))
  it("obeys the rules of the URL first", () => expect(opened("http://8.8.8.8/", "any")).toBe("UrlRefused"))
})

/** Name servers that give one list of answers after the other, the last one for ever. */
const answering = (...lists: ReadonlyArray<ReadonlyArray<string>>) => {
  const asked: Array<string> = []
  const resolve = async (host: string): Promise<ReadonlyArray<ResolvedAddress>> => {
    const answers = lists[Math.min(asked.length, lists.length - 1)]!
    asked.push(host)
    // A family that lies, as a broken resolver might give it.
    return answers.map((address) => ({ address, family: 4 }))
  }
  return { asked, resolve }
}

interface Answer {
  readonly error: NodeJS.ErrnoException | null
  readonly addresses: ReadonlyArray<string>
}
const lookUp = (lookup: LookupFunction, options: Parameters<LookupFunction>[1] = { all: true }): Promise<Answer> =>
  new Promise((resolve) =>
    lookup("hooks.example.com", options, (error, given) =>
      resolve({ error, addresses: typeof given === "string" ? [given] : given.map(({ address }) => address) })
    )
  )

const outside = ["93.184.215.14", "2606:4700::1111"]

describe("looking a name up", () => {
  it("gives all its public addresses, or one, or those of a family", async () => {
    const { lookup } = makeTargetGuard("public", answering(outside).resolve)
    expect((await lookUp(lookup)).addresses).toEqual(outside)
    expect((await lookUp(lookup, {})).addresses).toEqual([outside[0]])
    expect((await lookUp(lookup, { family: 6 })).addresses).toEqual([outside[1]])
    expect((await lookUp(lookup, { family: "IPv6", all: true })).addresses).toEqual([outside[1]])
    expect((await lookUp(lookup, { family: "IPv4" })).addresses).toEqual([outside[0]])
    expect((await lookUp(lookup, { family: 0, all: true })).addresses).toEqual(outside)
  })

  it.each([
    ["127.0.0.1"],
    ["::1"],
    ["::ffff:10.0.0.1"],
    ["64:ff9b::a9fe:a9fe"],
    ["169.254.169.254"],
    ["fe80::1%eth0"],
    ["no address"]
  ])("refuses a name with %s among its answers as a whole, whichever family is wanted", async (inside) => {
    for (const answers of [[inside], [...outside, inside], [inside, ...outside]]) {
      for (const options of [{ all: true }, {}, { family: 4 }, { family: 6, all: true }]) {
        const { addresses, error } = await lookUp(makeTargetGuard("public", answering(answers).resolve).lookup, options)
        expect(addresses).toEqual([])
        expect(error).toBeInstanceOf(TargetRefused)
        expect(error).toMatchObject({ code: "ERR_WEBHOOK_TARGET_REFUSED", host: "hooks.example.com", address: inside })
        expect(error?.message).not.toContain(inside)
      }
    }
  })

  it("gives every address where any target is allowed, except what is none", async () => {
    const anywhere = (...answers: ReadonlyArray<string>) =>
      lookUp(makeTargetGuard("any", answering(answers).resolve).lookup)
    expect((await anywhere("127.0.0.1", "10.0.0.1")).addresses).toEqual(["127.0.0.1", "10.0.0.1"])
    expect((await anywhere("localhost")).error).toBeInstanceOf(TargetRefused)
  })

  it("finds nothing where there is no address, or none of the family", async () => {
    expect((await lookUp(makeTargetGuard("public", answering([]).resolve).lookup)).error).toMatchObject({
      code: "ENOTFOUND"
    })
    const { lookup } = makeTargetGuard("public", answering(["8.8.8.8"]).resolve)
    expect((await lookUp(lookup, { family: 6 })).error).toMatchObject({ code: "ENOTFOUND" })
  })

  it("passes on what the name servers say", async () => {
    const failing = () => Promise.reject(Object.assign(new Error("try later"), { code: "EAI_AGAIN" }))
    expect((await lookUp(makeTargetGuard("public", failing).lookup)).error).toMatchObject({ code: "EAI_AGAIN" })
  })

  it("knows the hosts of the system unless told otherwise", async () => {
    const system: Promise<Answer> = new Promise((resolve) =>
      makeTargetGuard("public").lookup("localhost", {}, (error) => resolve({ error, addresses: [] }))
    )
    expect((await system).error).toBeInstanceOf(TargetRefused)
  })

  const Candidate = Schema.Literals([
    "8.8.8.8",
    "1.1.1.1",
    "2606:4700::1111",
    "10.0.0.1",
    "::1",
    "::ffff:8.8.4.4",
    "::ffff:127.0.0.1",
    "2002:a00:1::"
  ])
  it.prop(
    "never gives an address that is not public, and never refuses public ones",
    [
      Schema.Array(Candidate).check(Schema.isMinLength(1), Schema.isMaxLength(5)),
      Schema.Boolean,
      Schema.Literals([0, 4, 6])
    ],
    async ([answers, all, family]) => {
      const { addresses, error } = await lookUp(makeTargetGuard("public", answering(answers).resolve).lookup, {
        all,
        family
      })
      for (const address of addresses) expect(refusedAddressClass(address)).toBeUndefined()
      const arePublic = answers.every((address) => refusedAddressClass(address) === undefined)
      expect(error instanceof TargetRefused).toBe(!arePublic)
      const ofFamily = answers.filter((address) => family === 0 || address.includes(":") === (family === 6))
      expect(addresses).toEqual(arePublic ? ofFamily.slice(0, all ? undefined : 1) : [])
    }
  )
})

/** A server on a loopback address that counts its connections. */
const listening = async <A>(
  address: string,
  use: (port: number, connections: () => number) => Promise<A>
): Promise<A> => {
  let connections = 0
  const server: Server = createServer((_request, response) => response.end("received"))
  server.on("connection", () => connections++)
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, address, resolve))
  try {
    return await use((server.address() as AddressInfo).port, () => connections)
  } finally {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
}

const post = (
  port: number,
  lookup: LookupFunction
): Promise<{ readonly status: number; readonly to: string | undefined }> =>
  new Promise((resolve, reject) => {
    const sent = request({ host: "hooks.example.com", port, lookup, agent: false, method: "POST" }, (response) => {
      const to = response.socket.remoteAddress
      response.resume().once("end", () => resolve({ status: response.statusCode ?? 0, to }))
    })
    sent.once("error", reject).end("{}")
  })

describe("connecting", () => {
  it("goes to the address that was checked, asking the name servers once", () =>
    listening("127.0.0.2", async (port) => {
      const servers = answering(["127.0.0.2"], ["127.0.0.3"])
      const { lookup } = makeTargetGuard("any", servers.resolve)
      expect(await post(port, lookup)).toEqual({ status: 200, to: "127.0.0.2" })
      expect(servers.asked).toEqual(["hooks.example.com"])
    }))

  it("[platform 6.9] does not happen when the name points inside, alone or among public addresses", () =>
    listening("127.0.0.1", async (port, connections) => {
      for (const answers of [["127.0.0.1"], ["93.184.215.14", "127.0.0.1"], ["::ffff:127.0.0.1"]]) {
        const { lookup } = makeTargetGuard("public", answering(answers).resolve)
        await expect(post(port, lookup)).rejects.toBeInstanceOf(TargetRefused)
      }
      expect(connections()).toBe(0)
    }))

  it("is of no use to a name that turns inside after its check", async () => {
    const servers = answering(["93.184.215.14"], ["127.0.0.1"])
    const { lookup } = makeTargetGuard("public", servers.resolve)
    const attempted = await new Promise((resolve, reject) => {
      const socket = connect({ host: "hooks.example.com", port: 443, lookup, autoSelectFamily: false })
      // Between look-up and connect: nothing is sent to the public address.
      socket.once("lookup", (error, address) => {
        socket.destroy()
        error === null ? resolve(address) : reject(error)
      })
    })
    expect(attempted).toBe("93.184.215.14")
    await expect(post(443, lookup)).rejects.toBeInstanceOf(TargetRefused)
    expect(servers.asked.length).toBe(2)
  })

  it("is refused before a TLS handshake too", () =>
    listening("127.0.0.1", async (port, connections) => {
      const { lookup } = makeTargetGuard("public", answering(["127.0.0.1"]).resolve)
      const failed = new Promise((resolve) =>
        secureRequest({ host: "hooks.example.com", port, lookup, agent: false }).once("error", resolve).end()
      )
      expect(await failed).toBeInstanceOf(TargetRefused)
      expect(connections()).toBe(0)
    }))
})
