/** Endpoints as they are answered over HTTP, for tests. */
import { expect } from "vitest"
import { hookUrl } from "../platform.ts"

/** The list form of a new endpoint (docs/platform.md, 6.1). */
export const listForm = (id: string) => ({
  id,
  url: hookUrl,
  enabled_events: ["telco.*"],
  description: null,
  header_names: [],
  rate_limit: null,
  ordering: null,
  label: null,
  public_key: null,
  is_active: true,
  is_paused: false,
  consecutive_failures: 0,
  last_delivery_at: null,
  last_delivery_status: null,
  pending: 0,
  oldest_pending_at: null,
  created_at: expect.any(Number)
})

export const secretForm = expect.stringMatching(/^whsec_[0-9A-Za-z+/]{43}=$/)
