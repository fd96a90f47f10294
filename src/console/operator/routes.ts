/** Lists the views of the operator's console, on the admin listener. */
import type { Route } from "../views/routes.ts"
import { Actors } from "./actors.tsx"
import { Organization } from "./organization.tsx"
import { Organizations } from "./organizations.tsx"
import { Parked } from "./ParkedView.tsx"
import { Frame, Partition } from "./partition.tsx"
import { Platform } from "./platform.tsx"
import { OrganizationRequest } from "./request.tsx"

export const operatorRoutes: ReadonlyArray<Route> = [
  { path: "/", word: "Platform", section: "platform", view: Platform },
  { path: "/partitions/:id", section: "platform", view: Partition },
  { path: "/partitions/:id/frames/:sequence", section: "platform", view: Frame },
  { path: "/parked", word: "Parked records", section: "parked", view: Parked },
  { path: "/actors", word: "Actors", section: "actors", view: Actors },
  { path: "/organizations", word: "Organizations", section: "organizations", view: Organizations },
  { path: "/organizations/:id", section: "organizations", view: Organization },
  { path: "/organizations/:id/requests/:recordId", section: "organizations", view: OrganizationRequest }
]
