/** Lists the views of the operator's console, on the admin listener. */
import type { Route } from "../views/routes.ts"
import { Accounts } from "./accounts.tsx"
import { Actors } from "./actors.tsx"
import { OperatorActs } from "./acts.tsx"
import { Caps } from "./caps.tsx"
import { Ingestions } from "./ingestions.tsx"
import { Invoice, Invoices } from "./invoices.tsx"
import { Limits } from "./limits.tsx"
import { Nodes } from "./nodes.tsx"
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
  { path: "/nodes", word: "Nodes", section: "nodes", view: Nodes },
  { path: "/organizations", word: "Organizations", section: "organizations", view: Organizations },
  { path: "/organizations/:id", section: "organizations", view: Organization },
  { path: "/organizations/:id/requests/:recordId", section: "organizations", view: OrganizationRequest },
  { path: "/limits", word: "Limits", section: "limits", view: Limits },
  { path: "/risk", word: "Risk", section: "risk", view: Accounts },
  { path: "/caps", word: "Send caps", section: "caps", view: Caps },
  { path: "/invoices", word: "Invoices", section: "invoices", view: Invoices },
  { path: "/invoices/:id", section: "invoices", view: Invoice },
  { path: "/ingestions", word: "Ingestions", section: "ingestions", view: Ingestions },
  { path: "/acts", word: "Acts", section: "acts", view: OperatorActs }
]
