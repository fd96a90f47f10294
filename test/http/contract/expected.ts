/** The form of refusals (docs/platform.md, 1.4 to 1.6), written down apart from the code that makes them. */
import { expect } from "vitest"
import type { Endpoint } from "./endpoints.ts"
import type { Answer } from "./world.ts"

const coded = ["carriers", "carrier", "npa", "directory", "health", "stats", "telco", "webhooks"]

/** A refusal in the shape of the product that a path belongs to. `message` may be a matcher. */
export const errorBody = (path: string, code: unknown, message: unknown): object => {
  const [, first, second] = path.split(/[/?]/)
  const product = first === "v1" ? second! : first!
  if (coded.includes(product) && first !== "admin") return { error: code, message }
  if (first === "v1" && product === "talk") return { error: message }
  if (first === "v1" && product === "send") return { error: { code, message } }
  return { success: false, error: { code, message } }
}

/** What a webhook's URL is refused with, and nothing beside (docs/platform.md, 6.1). */
const ofUrl = ["url is required", "Webhook URL must use HTTPS"]

/** Some code, and a message that is not empty. */
export const anyError = (path: string): object =>
  errorBody(path, expect.stringMatching(/^[a-z_]+$/), expect.stringMatching(/\S/))

/** Fails unless the answer is exactly this refusal. */
export const expectRefused = (
  answer: Answer,
  { path }: Pick<Endpoint, "path">,
  status: number,
  code: string,
  message: unknown = expect.stringMatching(/\S/)
): void => {
  expect({ asked: answer.asked, status: answer.status, body: answer.body }).toStrictEqual({
    asked: answer.asked,
    status,
    body: errorBody(path, code, message)
  })
}

/** 400 with a message. */
export const expectInvalid = (answer: Answer, endpoint: Pick<Endpoint, "path">, message: unknown): void =>
  expectRefused(answer, endpoint, 400, "invalid_request", message)

/** What holds for every answer, whatever was asked: the fault is the caller's, and it is told in the product's shape. */
export const expectCallersFault = (
  { asked, body, headers, status }: Answer,
  { path }: Pick<Endpoint, "path">
): void => {
  expect(status, asked).toBeLessThan(500)
  expect(headers["x-injected"], `a header was injected: ${asked}`).toBeUndefined()
  if (status < 400) return
  if (path.startsWith("/v1/webhooks") && ofUrl.includes((body as { readonly error?: string }).error ?? "")) return
  expect(body, asked).toStrictEqual(anyError(path))
}
