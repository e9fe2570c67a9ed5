/** Finds what a misspelled name was meant to be. */
import { editDistance } from "../../utils/edit_distance.ts";

/** How many names are suggested at most. */
const MOST = 3;

/**
 * The names that are like another one, the most alike first.
 *
 * @param wrong What was written.
 * @param names The names that there are, each with the texts that it is known by.
 */
export function nearNames(wrong: string, names: ReadonlyMap<string, readonly string[]>): string[] {
  const written = plain(wrong);
  const rated = [...names].map(([name, texts]) => {
    const ratings = [name, ...texts].map((text) => unlikeness(written, plain(text)));
    return { name, rating: Math.min(...ratings) };
  });
  const near = rated.filter(({ rating }) => rating <= Math.max(1, written.length / 3));
  return near.sort((a, b) => a.rating - b.rating).slice(0, MOST).map(({ name }) => name);
}

function plain(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9]/g, "");
}

/** 0 for the same text, 0.5 where one contains the other, else the edits that lead from one to the other. */
function unlikeness(one: string, other: string): number {
  if (one === other) return 0;
  if (one.length > 2 && other.includes(one) || other.length > 2 && one.includes(other)) return 0.5;
  return editDistance(one, other);
}
