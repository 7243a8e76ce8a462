// The calibration plot: predicted against observed shares of wins.
import { el, number, svg, table } from "../shared/dom.js";
import { asTable, axes, percent, picture, responsive, scale } from "./primitives.js";

const MARKS = [0, 0.25, 0.5, 0.75, 1];

export function calibrationPlot({ bins }) {
  if (!bins.length) return el("p", { class: "muted" }, "The plot appears once there are votes to predict.");
  const chart = responsive((fullWidth) => draw(bins, Math.min(fullWidth, 460)));
  const rows = bins.map((bin) => [
    `${percent(bin.start)} to ${percent(bin.stop)}`,
    number(percent(bin.predicted, 1)),
    number(percent(bin.observed, 1)),
    number(`${percent(bin.low, 1)} to ${percent(bin.high, 1)}`),
    bin.votes,
  ]);
  const headers = ["group", "predicted", "observed", "interval", "votes"];
  return el("div", null, chart, asTable(table("Predicted and observed shares", headers, rows)));
}

function draw(bins, width) {
  const height = Math.min(width, 380);
  const margin = { left: 44, right: 24, top: 20, bottom: 34 };
  const x = scale([0, 1], [margin.left, width - margin.right]);
  const y = scale([0, 1], [height - margin.bottom, margin.top]);
  const mostVotes = Math.max(...bins.map((bin) => bin.votes));
  const tooltip = (bin) => `${percent(bin.predicted)} predicted, ${percent(bin.observed)} observed, ${bin.votes} votes`;
  return picture(
    width,
    height,
    `Predicted and observed shares of wins in ${bins.length} groups of votes; the table below has the numbers.`,
    axes({
      width,
      height,
      margin,
      x,
      y,
      xTicks: MARKS,
      yTicks: MARKS,
      xLabel: "predicted share of wins",
      yLabel: "observed share",
      formatX: percent,
      formatY: percent,
    }),
    svg("line", { class: "diagonal", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }),
    bins.map((bin) => [
      svg("line", { class: "interval", x1: x(bin.predicted), x2: x(bin.predicted), y1: y(bin.low), y2: y(bin.high) }),
      svg(
        "circle",
        { class: "point", cx: x(bin.predicted), cy: y(bin.observed), r: 3 + 5 * Math.sqrt(bin.votes / mostVotes) },
        svg("title", null, tooltip(bin)),
      ),
    ]),
  );
}
