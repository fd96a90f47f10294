/** Draws the product's mark. */
export const Mark = () => (
  <svg viewBox="0 0 16 16" aria-hidden="true">
    <rect width="16" height="16" rx="4" fill="var(--accent)" />
    <path d="M4 5h8M4 8h5M4 11h8" stroke="var(--accent-ink)" stroke-width="1.6" stroke-linecap="round" />
  </svg>
)
