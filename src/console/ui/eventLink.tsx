/** Names an event, with a link to it for those who may see events themselves. A portal shows deliveries alone. */
import type { ComponentChildren } from "preact"
import { portal } from "../session.ts"
import { Link } from "./basics.tsx"

export const EventLink = ({ id, children }: { readonly id: string; readonly children: ComponentChildren }) =>
  portal.value === null ? <Link to={`/events/${id}`}>{children}</Link> : <span>{children}</span>
