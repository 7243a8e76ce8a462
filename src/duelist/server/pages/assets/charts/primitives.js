// What all charts share: scales, ticks, axes, and drawing anew when the room they have changes.
import { el, replace, svg } from "../shared/dom.js";

export const percent = (share, digits = 0) =>
  share === null || share === undefined
    ? "–"
    : share > 0 && share < 0.005 && digits === 0
      ? "<1 %"
      : `${(100 * share).toFixed(digits)} %`;
export const signed = (value, digits = 2) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(digits);
export const short = (text, length) => {
  const letters = [...String(text)];
  return letters.length > length ? `${letters.slice(0, length - 1).join("")}…` : String(text);
};

/** A line from values to places. */
export function scale([low, high], [start, end]) {
  const span = high - low || 1;
  return (value) => start + ((value - low) / span) * (end - start);
}

/** Round values between two others, about so many. */
export function ticks(low, high, about = 5) {
  const raw = (high - low || 1) / about;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((each) => each * power >= raw);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1) found.push(k * step);
  return { found, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
}

/** Draw into a figure now, and again when its width changes. `draw(width)` gives the node. */
export function responsive(draw, attributes = {}) {
  const frame = el("div", { class: "chart", ...attributes });
  let width = 0;
  const again = () => {
    if (width > 0 && frame.isConnected) replace(frame, draw(width));
  };
  new ResizeObserver(([entry]) => {
    const now = Math.floor(entry.contentRect.width);
    if (Math.abs(now - width) > 1) {
      width = now;
      again();
    }
  }).observe(frame);
  return frame;
}

/** A picture with a name, for those who see it and those who do not. */
export function picture(width, height, label, ...children) {
  return svg(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    ...children,
  );
}

/** Grid, ticks and names of both axes of a plot with margins {left, right, top, bottom}. */
export function axes({ width, height, margin, x, y, xs, ys, xName, yName, xText = String, yText = String }) {
  const right = width - margin.right;
  const bottom = height - margin.bottom;
  return svg(
    "g",
    { class: "axes", "aria-hidden": "true" },
    ys.map((value) => [
      svg("line", { class: "grid", x1: margin.left, x2: right, y1: y(value), y2: y(value) }),
      svg("text", { x: margin.left - 6, y: y(value) + 4, "text-anchor": "end" }, yText(value)),
    ]),
    xs.map((value) => svg("text", { x: x(value), y: bottom + 16, "text-anchor": "middle" }, xText(value))),
    svg("line", { class: "axis", x1: margin.left, x2: right, y1: bottom, y2: bottom }),
    svg("text", { class: "name", x: (margin.left + right) / 2, y: height - 2, "text-anchor": "middle" }, xName),
    svg("text", { class: "name", x: 0, y: 11 }, yName),
  );
}

/** A table that says in numbers what a chart shows, folded away until somebody wants it. */
export const asNumbers = (node) => el("details", null, el("summary", null, "The same in numbers"), node);
