// Regret per pair: pairs chosen by the policy against pairs chosen at random.
import { el, number, svg, table } from "../shared/dom.js";
import { asTable, picture, responsive, scale, ticks } from "./primitives.js";

const HEIGHT = 112;
const LABELS = 130; // pixels for the labels on the left

export function regretBars(regret) {
  const kinds = [
    ["chosen by the policy", regret.policy, regret.policy_duels],
    ["chosen at random", regret.random, regret.random_duels],
  ];
  const chart = responsive((fullWidth) => draw(kinds, Math.min(fullWidth, 620)));
  const row = (name, estimate, pairs) => [
    name,
    number(estimate.value.toFixed(3)),
    number(`${estimate.low.toFixed(3)} to ${estimate.high.toFixed(3)}`),
    pairs,
  ];
  const rows = [...kinds.map((kind) => row(...kind)), row("difference", regret.saved, "")];
  return el("div", null, chart, asTable(table("Regret per pair", ["pairs", "regret", "interval", "number"], rows)));
}

function draw(kinds, width) {
  const largest = Math.max(...kinds.map(([, estimate]) => estimate.high), 1e-9);
  const x = scale([0, largest], [LABELS, width - 16]);
  const { values, digits } = ticks(0, largest, 4);
  const bar = ([name, estimate], k) => [
    svg("text", { class: "label", x: LABELS - 8, y: 28 + 34 * k, "text-anchor": "end" }, name),
    svg("rect", {
      class: `bar b${k}`,
      x: x(0),
      y: 14 + 34 * k,
      width: Math.max(0, x(estimate.value) - x(0)),
      height: 20,
    }),
    svg("line", {
      class: "interval",
      x1: x(Math.max(0, estimate.low)),
      x2: x(estimate.high),
      y1: 24 + 34 * k,
      y2: 24 + 34 * k,
    }),
  ];
  return picture(
    width,
    HEIGHT,
    "Regret per pair with intervals; the table below has the numbers.",
    values.map((value) => [
      svg("line", { class: "grid", x1: x(value), x2: x(value), y1: 6, y2: 76 }),
      svg("text", { class: "tick", x: x(value), y: 92, "text-anchor": "middle" }, value.toFixed(digits)),
    ]),
    svg(
      "text",
      { class: "name", x: (LABELS + width) / 2, y: 108, "text-anchor": "middle" },
      "regret per pair, in units of utility",
    ),
    kinds.map(bar),
  );
}
