/** Elements of a page that cover each other. */
import type { Page } from "playwright-core";

/** What is read or clicked, and has nothing of the kind in it. */
const SOLID = "h1, p, label, input:not([type=hidden]), button, summary, a, img, [aria-live]:not(:empty), [role=status]";

/** The pairs of elements that overlap, by more than a rounded pixel. */
export async function overlapsOf(page: Page): Promise<string[]> {
  return await page.evaluate(`
    (() => {
      const shown = [...document.querySelectorAll(${JSON.stringify(SOLID)})].filter((element) => {
        const { width, height } = element.getBoundingClientRect();
        return width > 1 && height > 1 && element.checkVisibility({ visibilityProperty: true });
      });
      const name = (element) => element.outerHTML.slice(0, 60);
      return shown.flatMap((one, index) => shown.slice(index + 1).flatMap((other) => {
        // A button within its field, and text within a paragraph, are meant to be there.
        if (one.contains(other) || other.contains(one)) return [];
        if (one.matches("input") && other.matches(".reveal")) return [];
        // The picture of the panel is behind its text.
        if (one.matches(".panel img")) return [];
        const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        return wide > 1 && high > 1 ? [name(one) + " overlaps " + name(other)] : [];
      }));
    })()
  `) as string[];
}
