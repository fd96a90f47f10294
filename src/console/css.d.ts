/** Styles are part of the bundle; they give the program nothing. */
declare module "*.css"
