/** Handles the admin API's list of operators' acts. Needs `ActList`. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { defaultCursorPageSize } from "../http/PageCursors.ts"
import { ActList } from "./ActList.ts"
import { AdminApi } from "./adminApi.ts"
import { invalidCursor, unavailable } from "./failures.ts"

export const layerActs = HttpApiBuilder.group(
  AdminApi,
  "acts",
  Effect.fn(function* (handlers) {
    const acts = yield* ActList
    return handlers.handleAll({
      list: ({ query: { limit = defaultCursorPageSize, ...filter } }) =>
        acts
          .list({ ...filter, limit })
          .pipe(Effect.catchTags({ InvalidCursor: () => Effect.fail(invalidCursor()), SqlError: unavailable }))
    })
  })
)
