/** Chooses light or dark: the reader's choice, or else the system's. */
import { effect, signal } from "@preact/signals"

export type Theme = "system" | "light" | "dark"

const name = "sluice-theme"

const stored = (): Theme => {
  try {
    const value = localStorage.getItem(name)
    return value === "light" || value === "dark" ? value : "system"
  } catch {
    return "system"
  }
}

export const theme = signal<Theme>(stored())

effect(() => {
  document.documentElement.dataset.theme = theme.value
  try {
    localStorage.setItem(name, theme.value)
  } catch {
    // A browser that keeps nothing shows what the system has.
  }
})

/** The next of the three. */
export const nextTheme = (): void => {
  theme.value = theme.value === "system" ? "dark" : theme.value === "dark" ? "light" : "system"
}
