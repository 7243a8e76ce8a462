// Utilities with their intervals: a small mark in each row of the board, and all arms at once when there are many.
import { axes, picture, responsive, scale, short, signed, ticks } from "./primitives.js";
import { el, svg } from "../shared/dom.js";

const WIDTH = 150;
const HEIGHT = 20;

export const reach = (standings) =>
  standings.length ? [Math.min(...standings.map((s) => s.low)), Math.max(...standings.map((s) => s.high))] : [-1, 1];

/** Point and interval of one arm, on the scale that all rows share. */
export function intervalMark(standing, domain) {
  const x = scale(domain, [5, WIDTH - 5]);
  const zero = domain[0] < 0 && domain[1] > 0;
  const label = `${signed(standing.utility)}, between ${signed(standing.low)} and ${signed(standing.high)}`;
  return picture(
    WIDTH,
    HEIGHT,
    label,
    zero && svg("line", { class: "zero", x1: x(0), x2: x(0), y1: 0, y2: HEIGHT }),
    svg("line", { class: "interval", x1: x(standing.low), x2: x(standing.high), y1: HEIGHT / 2, y2: HEIGHT / 2 }),
    svg("circle", { class: "point", cx: x(standing.utility), cy: HEIGHT / 2, r: 4 }),
  );
}

/** From which rank to which, among all. */
export function rankMark(standing, arms) {
  const width = 72;
  const x = scale([1, Math.max(arms, 2)], [8, width - 8]);
  const label =
    standing.best_rank === standing.worst_rank
      ? `rank ${standing.best_rank}`
      : `between rank ${standing.best_rank} and ${standing.worst_rank}`;
  return picture(
    width,
    HEIGHT,
    label,
    svg("line", { class: "track", x1: 5, x2: width - 5, y1: HEIGHT / 2, y2: HEIGHT / 2 }),
    svg("line", {
      class: "ranks",
      x1: x(standing.best_rank) - 3,
      x2: x(standing.worst_rank) + 3,
      y1: HEIGHT / 2,
      y2: HEIGHT / 2,
    }),
  );
}

export function shareMark(share) {
  const width = 60;
  return svg(
    "svg",
    { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, "aria-hidden": "true" },
    svg("rect", { class: "track", x: 0, y: 6, width, height: 8, rx: 2 }),
    svg("rect", { class: "share", x: 0, y: 6, width: width * share, height: 8, rx: 2 }),
  );
}

/** All arms from best to worst: one line each, whose arm is named when pointed at. */
export function allArms(standings) {
  const named = el("p", { class: "readout", "aria-hidden": "true" }, "Point at a line to see whose it is.");
  const chart = responsive((width) => {
    const height = 260;
    const margin = { left: 44, right: 10, top: 20, bottom: 34 };
    const [low, high] = reach(standings);
    const x = scale([1, Math.max(2, standings.length)], [margin.left + 4, width - margin.right - 4]);
    const y = scale([low, high], [height - margin.bottom, margin.top]);
    const ranks = ticks(1, standings.length, 6).found.filter((rank) => Number.isInteger(rank) && rank >= 1);
    const { found, digits } = ticks(low, high, 5);
    const lines = standings
      .map((s, k) => `M${x(k + 1).toFixed(1)} ${y(s.low).toFixed(1)}V${y(s.high).toFixed(1)}`)
      .join("");
    const points = standings.map((s, k) => `M${x(k + 1).toFixed(1)} ${y(s.utility).toFixed(1)}h.01`).join("");
    const cursor = svg("line", { class: "cursor", y1: margin.top, y2: height - margin.bottom, x1: -9, x2: -9 });
    const point = (event) => {
      const box = event.currentTarget.getBoundingClientRect();
      const place = (event.clientX - box.left - x(1)) / (x(2) - x(1) || 1);
      const k = Math.min(standings.length - 1, Math.max(0, Math.round(place)));
      const s = standings[k];
      cursor.setAttribute("x1", x(k + 1));
      cursor.setAttribute("x2", x(k + 1));
      named.textContent = `${k + 1}. ${short(s.arm, 80)}: ${signed(s.utility)} (${signed(s.low)} to ${signed(s.high)}), ranks ${s.best_rank} to ${s.worst_rank}`;
    };
    const node = picture(
      width,
      height,
      `Utility and interval of ${standings.length} arms, best first; the table names them`,
      axes({
        width,
        height,
        margin,
        x,
        y,
        xs: ranks,
        ys: found,
        xName: "rank",
        yName: "utility",
        yText: (v) => v.toFixed(digits),
      }),
      svg("path", { class: "interval thin", d: lines }),
      svg("path", { class: "points", d: points }),
      cursor,
    );
    node.addEventListener("pointermove", point);
    return node;
  });
  return el("div", null, chart, named);
}
