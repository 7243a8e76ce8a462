// Names of the two sides: left and right, or top and bottom where the style sheet stacks them.
import { say } from "../shared/sentences.js";

const stacked = matchMedia("(max-width: 44rem)");
const NAMES = [
  ["side.left", "side.top"],
  ["side.right", "side.bottom"],
];
const BETTER = [
  ["outcome.left", "outcome.top"],
  ["outcome.right", "outcome.bottom"],
];

/** The name of the first side (0) or the second (1). */
export const sideName = (side) => say(NAMES[side][Number(stacked.matches)]);
/** The vote for a side, in words. */
export const isBetter = (side) => say(BETTER[side][Number(stacked.matches)]);
/** Call a function now and whenever the layout changes. */
export function onLayout(draw) {
  stacked.addEventListener("change", draw);
  draw();
}
