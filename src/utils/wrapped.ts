/** Whether a text has quotation marks or white space around it, as files of variables leave them. */
export function isWrapped(text: string): boolean {
  return text !== text.trim() || /^(["'`])[^]*\1$/.test(text);
}
