/**
 * Maps errors to the names of Resend's API (docs/platform.md, 1.4): those of its package, so that a program written for
 * Resend takes the same branch as there. Pure.
 */
import type { ErrorCode } from "./errorTable.ts"

/** Resend's names for errors that the platform has. */
export type ResendErrorName =
  | "application_error"
  | "concurrent_idempotent_requests"
  | "daily_quota_exceeded"
  | "internal_server_error"
  | "invalid_access"
  | "invalid_api_key"
  | "invalid_attachment"
  | "invalid_from_address"
  | "invalid_idempotency_key"
  | "invalid_idempotent_request"
  | "method_not_allowed"
  | "missing_api_key"
  | "missing_required_field"
  | "monthly_quota_exceeded"
  | "not_found"
  | "rate_limit_exceeded"
  | "restricted_api_key"
  | "validation_error"

const nameByCode: Readonly<Record<ErrorCode, ResendErrorName>> = {
  invalid_request: "validation_error",
  unauthorized: "invalid_api_key",
  forbidden: "restricted_api_key",
  sender_not_verified: "validation_error",
  sending_paused: "invalid_access",
  not_found: "not_found",
  method_not_allowed: "method_not_allowed",
  request_timeout: "application_error",
  conflict: "validation_error",
  idempotency_conflict: "invalid_idempotent_request",
  payload_too_large: "validation_error",
  uri_too_long: "validation_error",
  unsupported_media_type: "validation_error",
  rate_limited: "rate_limit_exceeded",
  monthly_limit_reached: "monthly_quota_exceeded",
  probation_limit_reached: "daily_quota_exceeded",
  verification_too_soon: "rate_limit_exceeded",
  request_header_fields_too_large: "validation_error",
  internal_error: "internal_server_error",
  unavailable: "application_error"
}

/** Faults for which Resend has a name of its own, by their messages. */
const nameByFault: ReadonlyArray<readonly [code: ErrorCode, message: RegExp, name: ResendErrorName]> = [
  ["invalid_request", /'idempotency-key'/i, "invalid_idempotency_key"],
  ["invalid_request", /Missing (?:required )?(?:field|parameter)|Missing '/, "missing_required_field"],
  ["invalid_request", /(?:Invalid|field) '(?:\d+\.)?from'/, "invalid_from_address"],
  ["invalid_request", /(?:Invalid|field) '(?:\d+\.)?attachments\b/, "invalid_attachment"],
  ["conflict", /under way/, "concurrent_idempotent_requests"]
]

/** Resend's name of an error. `hasKey` says whether the request gave a key. */
export const resendErrorName = (code: ErrorCode, message: string, hasKey: boolean): ResendErrorName => {
  if (code === "unauthorized" && !hasKey) return "missing_api_key"
  return nameByFault.find(([of, words]) => of === code && words.test(message))?.[2] ?? nameByCode[code]
}
