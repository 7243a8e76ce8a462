// Utilities with their intervals: a mark in each row of the leaderboard, and a chart of all items for long leaderboards.
import { el, svg } from "../shared/dom.js";
import { itemLabel } from "../shared/item-names.js";
import { axes, picture, responsive, scale, shorten, signed, ticks } from "./primitives.js";

const HEIGHT = 20;
const INTERVAL_WIDTH = 150;
const RANK_WIDTH = 72;
const PROBABILITY_WIDTH = 60;

/** The smallest and the largest end of any interval. */
export const utilityRange = (standings) =>
  standings.length
    ? [Math.min(...standings.map((each) => each.low)), Math.max(...standings.map((each) => each.high))]
    : [-1, 1];

/** Point and interval of one item, on a scale that all rows share. */
export function intervalMark(standing, range) {
  const x = scale(range, [5, INTERVAL_WIDTH - 5]);
  const hasZero = range[0] < 0 && range[1] > 0;
  return picture(
    INTERVAL_WIDTH,
    HEIGHT,
    `${signed(standing.utility)}, between ${signed(standing.low)} and ${signed(standing.high)}`,
    hasZero && svg("line", { class: "zero", x1: x(0), x2: x(0), y1: 0, y2: HEIGHT }),
    svg("line", { class: "interval", x1: x(standing.low), x2: x(standing.high), y1: HEIGHT / 2, y2: HEIGHT / 2 }),
    svg("circle", { class: "point", cx: x(standing.utility), cy: HEIGHT / 2, r: 4 }),
  );
}

/** The possible ranks of an item, among all. */
export function rankMark({ best_rank: best, worst_rank: worst }, items) {
  const x = scale([1, Math.max(items, 2)], [8, RANK_WIDTH - 8]);
  const middle = { y1: HEIGHT / 2, y2: HEIGHT / 2 };
  return picture(
    RANK_WIDTH,
    HEIGHT,
    best === worst ? `rank ${best}` : `between rank ${best} and ${worst}`,
    svg("line", { class: "track", x1: 5, x2: RANK_WIDTH - 5, ...middle }),
    svg("line", { class: "ranks", x1: x(best) - 3, x2: x(worst) + 3, ...middle }),
  );
}

/** A bar for a probability. */
export function probabilityMark(probability) {
  const width = PROBABILITY_WIDTH;
  return svg(
    "svg",
    { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, "aria-hidden": "true" },
    svg("rect", { class: "track", x: 0, y: 6, width, height: 8, rx: 2 }),
    svg("rect", { class: "share", x: 0, y: 6, width: width * probability, height: 8, rx: 2 }),
  );
}

/** All items from best to worst, one line each; hovering over a line shows its item. */
export function intervalOverview(standings) {
  const readout = el("p", { class: "readout", "aria-hidden": "true" }, "Hover over a line to see its item.");
  const chart = responsive((width) => drawOverview(standings, width, readout));
  return el("div", null, chart, readout);
}

function drawOverview(standings, width, readout) {
  const height = 260;
  const margin = { left: 44, right: 10, top: 20, bottom: 34 };
  const [low, high] = utilityRange(standings);
  const x = scale([1, Math.max(2, standings.length)], [margin.left + 4, width - margin.right - 4]);
  const y = scale([low, high], [height - margin.bottom, margin.top]);
  const { values, digits } = ticks(low, high, 5);
  const lines = standings
    .map((each, k) => `M${x(k + 1).toFixed(1)} ${y(each.low).toFixed(1)}V${y(each.high).toFixed(1)}`)
    .join("");
  const points = standings.map((each, k) => `M${x(k + 1).toFixed(1)} ${y(each.utility).toFixed(1)}h.01`).join("");
  const cursor = svg("line", { class: "cursor", y1: margin.top, y2: height - margin.bottom, x1: -9, x2: -9 });
  const chart = picture(
    width,
    height,
    `Utilities and intervals of ${standings.length} items, best first; the table below names them.`,
    axes({
      width,
      height,
      margin,
      x,
      y,
      xTicks: ticks(1, standings.length, 6).values.filter((rank) => Number.isInteger(rank) && rank >= 1),
      yTicks: values,
      xLabel: "rank",
      yLabel: "utility",
      formatY: (value) => value.toFixed(digits),
    }),
    svg("path", { class: "interval thin", d: lines }),
    svg("path", { class: "points", d: points }),
    cursor,
  );
  chart.addEventListener("pointermove", (event) => {
    const left = event.clientX - event.currentTarget.getBoundingClientRect().left;
    const index = Math.round((left - x(1)) / (x(2) - x(1) || 1));
    const k = Math.min(standings.length - 1, Math.max(0, index));
    const { arm, utility, low: from, high: to, best_rank: best, worst_rank: worst } = standings[k];
    cursor.setAttribute("x1", x(k + 1));
    cursor.setAttribute("x2", x(k + 1));
    readout.textContent = `${k + 1}. ${shorten(itemLabel(arm), 80)}: ${signed(utility)} (${signed(from)} to ${signed(to)}), ranks ${best} to ${worst}`;
  });
  return chart;
}
