/**
 * Makes characters visible that turn the direction of a text, so that what others wrote looks as it is: `U+202E` in a
 * file's name would show another ending. Pure.
 */

const marks = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** The text with each such character as `[U+202E]`. */
export const shownDirections = (text: string): string =>
  text.replaceAll(marks, (mark) => `[U+${mark.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}]`)
