/** Shows text that others wrote: its direction stays its own, and marks that nobody sees are shown by their names. */

/** Marks without a form of their own: directions, joiners, separators and controls. Line ends and tabs are no such marks. */
const invisible = /([\p{Cf}\p{Zl}\p{Zp}]|[^\P{Cc}\n\r\t])/u

const nameOf = (mark: string): string => `U+${mark.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`

export const Foreign = ({ text }: { readonly text: string }) => (
  <bdi>
    {text.split(invisible).map((part, index) =>
      index % 2 === 0 ? (
        part
      ) : (
        <span key={index} class="mark" title="A mark that nobody sees">
          {nameOf(part)}
        </span>
      )
    )}
  </bdi>
)
