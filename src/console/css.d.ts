/** Declares imports of styles: they are part of the bundle, and give the program no value. */
declare module "*.css"
