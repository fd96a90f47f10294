/** Draws the bar above a menu: the product, and on a phone the button that opens the menu. */
import type { Signal } from "@preact/signals"
import type { ComponentChildren } from "preact"
import { Mark } from "./mark.tsx"

export const TopBar = ({
  children,
  home,
  isOpen
}: {
  /** The address behind the product's name. */
  readonly home: string
  /** Whether the menu, the element `menu`, is open. */
  readonly isOpen: Signal<boolean>
  readonly children?: ComponentChildren
}) => (
  <div class="bar-top">
    <a class="brand" href={home}>
      <Mark /> Sluice
    </a>
    {children}
    <button
      type="button"
      class="menu"
      aria-expanded={isOpen.value}
      aria-controls="menu"
      onClick={() => {
        isOpen.value = !isOpen.value
      }}
    >
      Menu
    </button>
  </div>
)
