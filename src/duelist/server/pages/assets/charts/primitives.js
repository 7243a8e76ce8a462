// Number formats, scales, ticks and axes shared by all charts, which are redrawn when their width changes.
import { el, replace, svg } from "../shared/dom.js";

export const percent = (share, digits = 0) =>
  share === null || share === undefined
    ? "–"
    : share > 0 && share < 0.005 && digits === 0
      ? "<1%"
      : `${(100 * share).toFixed(digits)}%`;
export const signed = (value, digits = 2) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(digits);
export const shorten = (text, length) => {
  const characters = [...String(text)];
  return characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : String(text);
};

/** A linear map from a domain of values to a range of coordinates. */
export function scale([low, high], [start, end]) {
  const span = high - low || 1;
  return (value) => start + ((value - low) / span) * (end - start);
}

/** About `count` round values between `low` and `high`, and the digits that they need. */
export function ticks(low, high, count = 5) {
  const raw = (high - low || 1) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((each) => each * power >= raw);
  const values = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1) values.push(k * step);
  return { values, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
}

/** A container for `draw(width)`, drawn now and whenever its width changes. */
export function responsive(draw, attributes = {}) {
  const frame = el("div", { class: "chart", ...attributes });
  let width = 0;
  new ResizeObserver(([entry]) => {
    const newWidth = Math.floor(entry.contentRect.width);
    if (Math.abs(newWidth - width) <= 1) return;
    width = newWidth;
    if (width > 0 && frame.isConnected) replace(frame, draw(width));
  }).observe(frame);
  return frame;
}

/** An SVG image with a label for screen readers. */
export function picture(width, height, label, ...children) {
  return svg(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    ...children,
  );
}

/** Grid lines, tick labels and axis labels of a plot; `margin` is {left, right, top, bottom}. */
export function axes({
  width,
  height,
  margin,
  x,
  y,
  xTicks,
  yTicks,
  xLabel,
  yLabel,
  formatX = String,
  formatY = String,
}) {
  const right = width - margin.right;
  const bottom = height - margin.bottom;
  return svg(
    "g",
    { class: "axes", "aria-hidden": "true" },
    yTicks.map((value) => [
      svg("line", { class: "grid", x1: margin.left, x2: right, y1: y(value), y2: y(value) }),
      svg("text", { x: margin.left - 6, y: y(value) + 4, "text-anchor": "end" }, formatY(value)),
    ]),
    xTicks.map((value) => svg("text", { x: x(value), y: bottom + 16, "text-anchor": "middle" }, formatX(value))),
    svg("line", { class: "axis", x1: margin.left, x2: right, y1: bottom, y2: bottom }),
    svg("text", { class: "name", x: (margin.left + right) / 2, y: height - 2, "text-anchor": "middle" }, xLabel),
    svg("text", { class: "name", x: 0, y: 11 }, yLabel),
  );
}

/** The data of a chart as a table, collapsed by default. */
export const asTable = (node) => el("details", null, el("summary", null, "Show as a table"), node);
