// Whether predictions come true, and what the choice of pairs saved.
import { asNumbers, axes, percent, picture, responsive, scale, ticks } from "./primitives.js";
import { el, number, svg, table } from "../shared/dom.js";

/** Predicted against observed shares, with intervals; points on the diagonal are predicted right. */
export function calibrationPlot({ bins }) {
  if (!bins.length) return el("p", { class: "muted" }, "There is a point as soon as there are votes to predict.");
  const chart = responsive((full) => {
    const width = Math.min(full, 460);
    const height = Math.min(width, 380);
    const margin = { left: 44, right: 24, top: 20, bottom: 34 };
    const x = scale([0, 1], [margin.left, width - margin.right]);
    const y = scale([0, 1], [height - margin.bottom, margin.top]);
    const marks = [0, 0.25, 0.5, 0.75, 1];
    const most = Math.max(...bins.map((bin) => bin.votes));
    return picture(
      width,
      height,
      `Predicted against observed shares in ${bins.length} groups of votes; the numbers are in the table below`,
      axes({
        width,
        height,
        margin,
        x,
        y,
        xs: marks,
        ys: marks,
        xName: "predicted share of wins",
        yName: "observed share",
        xText: percent,
        yText: percent,
      }),
      svg("line", { class: "diagonal", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }),
      bins.map((bin) => [
        svg("line", { class: "interval", x1: x(bin.predicted), x2: x(bin.predicted), y1: y(bin.low), y2: y(bin.high) }),
        svg(
          "circle",
          { class: "point", cx: x(bin.predicted), cy: y(bin.observed), r: 3 + 5 * Math.sqrt(bin.votes / most) },
          svg(
            "title",
            null,
            `${percent(bin.predicted)} predicted, ${percent(bin.observed)} observed, ${bin.votes} votes`,
          ),
        ),
      ]),
    );
  });
  const rows = bins.map((bin) => [
    `${percent(bin.start)} to ${percent(bin.stop)}`,
    number(percent(bin.predicted, 1)),
    number(percent(bin.observed, 1)),
    number(`${percent(bin.low, 1)} to ${percent(bin.high, 1)}`),
    bin.votes,
  ]);
  return el(
    "div",
    null,
    chart,
    asNumbers(table("Predicted and observed", ["group", "predicted", "observed", "interval", "votes"], rows)),
  );
}

/** What a duel cost, of the policy's and of chance's choosing. */
export function regretBars(regret) {
  const kinds = [
    ["the policy's pairs", regret.policy, regret.policy_duels],
    ["random pairs", regret.random, regret.random_duels],
  ];
  const chart = responsive((full) => {
    const width = Math.min(full, 620);
    const [height, left] = [112, 130];
    const top = Math.max(...kinds.map(([, estimate]) => estimate.high), 1e-9);
    const x = scale([0, top], [left, width - 16]);
    const { found, digits } = ticks(0, top, 4);
    return picture(
      width,
      height,
      "Regret a duel, with intervals; the numbers are in the table below",
      found.map((value) => [
        svg("line", { class: "grid", x1: x(value), x2: x(value), y1: 6, y2: 76 }),
        svg("text", { class: "tick", x: x(value), y: 92, "text-anchor": "middle" }, value.toFixed(digits)),
      ]),
      svg(
        "text",
        { class: "name", x: (left + width) / 2, y: 108, "text-anchor": "middle" },
        "regret a duel, in units of utility",
      ),
      kinds.map(([name, estimate], k) => [
        svg("text", { class: "label", x: left - 8, y: 28 + 34 * k, "text-anchor": "end" }, name),
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
      ]),
    );
  });
  const row = (name, estimate, duels) => [
    name,
    number(estimate.value.toFixed(3)),
    number(`${estimate.low.toFixed(3)} to ${estimate.high.toFixed(3)}`),
    duels,
  ];
  return el(
    "div",
    null,
    chart,
    asNumbers(
      table(
        "Regret a duel",
        ["of", "regret", "interval", "duels"],
        [...kinds.map((kind) => row(...kind)), row("saved by the policy", regret.saved, "")],
      ),
    ),
  );
}
