/**
 * Defines the platform's error codes and the shapes in which each product shows them (docs/platform.md, 1.4 and 1.5).
 * The same code appears as `{error: code, message}` in the directory, telco and webhooks, as `{error: sentence}` in
 * talk, as `{error: {code, message, …}}` in send and as `{success: false, error: {code, message}}` elsewhere; the path
 * decides, so that unknown routes and methods answer in their product's shape too.
 */

import type { ErrorCode } from "./errorTable.ts"
import { resendErrorName } from "./resendNames.ts"

export { type ErrorCode, errorStatus } from "./errorTable.ts"

/** The four documented shapes of an error body. */
export type ErrorShape = "coded" | "sentence" | "nested" | "envelope"

const shapeByPrefix: ReadonlyArray<readonly [prefix: string, shape: ErrorShape]> = [
  ["/v1/carriers", "coded"],
  ["/v1/carrier", "coded"],
  ["/v1/npa", "coded"],
  ["/v1/directory", "coded"],
  ["/v1/health", "coded"],
  ["/v1/stats", "coded"],
  ["/health", "coded"],
  ["/stats", "coded"],
  ["/v1/telco", "coded"],
  ["/v1/webhooks", "coded"],
  ["/v1/talk", "sentence"],
  ["/v1/send", "nested"]
]

const isUnder = (path: string, prefix: string): boolean =>
  path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === "/")

/** Services that a key may name although they have no endpoint, by the beginning of their paths. */
const servicesWithoutEndpoints = ["voip", "transcribe"] as const

/** The service without endpoints that a path would belong to. */
export const serviceWithoutEndpoints = (path: string): string | undefined =>
  servicesWithoutEndpoints.find((service) => isUnder(path, `/v1/${service}`))

/** The shape of errors under a path; the generic envelope if it belongs to no product. */
export const errorShapeOf = (path: string): ErrorShape => {
  for (const [prefix, shape] of shapeByPrefix) {
    if (isUnder(path, prefix)) return shape
  }
  return "envelope"
}

/** The body of an error in the given shape. */
export const errorBody = (shape: ErrorShape, code: ErrorCode, message: string): object => {
  switch (shape) {
    case "coded":
      return { error: code, message }
    case "sentence":
      return { error: message }
    case "nested":
      return { error: { code, message } }
    case "envelope":
      return { success: false, error: { code, message } }
  }
}

/** Clients that read an error's fields at the top of its body, by the beginning of their User-Agent. */
const flatClient = /^resend-/

/**
 * Flattens the body of a product that nests its errors, for a client that reads them flat: with `name`, as Resend's own
 * API has it, `message` and `statusCode` at the top too. Undefined if the body stays as it is.
 */
export const flattened = (
  path: string,
  { hasKey, userAgent }: { readonly userAgent: string | undefined; readonly hasKey: boolean },
  status: number,
  body: string
): object | undefined => {
  if (status < 400 || userAgent === undefined || !flatClient.test(userAgent)) return undefined
  if (errorShapeOf(path) !== "nested") return undefined
  // `errorBody`, or a schema of the same shape, makes every error of these paths.
  const nested = JSON.parse(body) as { readonly error: { readonly code: ErrorCode; readonly message: string } }
  const { code, message } = nested.error
  return { ...nested, name: resendErrorName(code, message, hasKey), message, statusCode: status }
}
