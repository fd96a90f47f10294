/** Chooses light or dark: the reader's choice, or else the system's. */
import { computed, effect, signal } from "@preact/signals"

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

const dark = matchMedia("(prefers-color-scheme: dark)")
const systemIsDark = signal(dark.matches)
dark.addEventListener("change", () => {
  systemIsDark.value = dark.matches
})

/** Whether the page is dark now, for what does not follow the style by itself. */
export const isDark = computed(() => (theme.value === "system" ? systemIsDark.value : theme.value === "dark"))

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
