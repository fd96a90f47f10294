/** Is VitePress's own theme without its fonts, which would be most of the site's bytes. */
export { default } from "vitepress/theme-without-fonts"
