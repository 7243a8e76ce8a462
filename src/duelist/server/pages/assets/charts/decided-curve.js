// The share of simulated studies that are decided after so many votes, with its interval.
import { el, svg } from "../shared/dom.js";
import { axes, percent, picture, responsive, scale, ticks } from "./primitives.js";

const HEIGHT = 240;
const MARGIN = { left: 48, right: 16, top: 24, bottom: 40 };

export const decidedCurve = (plan, goal) =>
  el(
    "figure",
    { class: "plan-curve" },
    responsive((width) => draw(plan, goal, Math.min(width, 720))),
    el(
      "figcaption",
      { class: "muted" },
      `Share of ${plan.runs} simulated studies that are decided, with its 95% interval`,
      goal !== "learn" && "; dashed: rightly decided",
      ".",
    ),
  );

function draw(plan, goal, width) {
  const x = scale([0, plan.budget], [MARGIN.left, width - MARGIN.right]);
  const y = scale([0, 1], [HEIGHT - MARGIN.bottom, MARGIN.top]);
  const steps = (name) =>
    plan.curve.map((point, k) => `${k ? `H${x(point.votes)}V` : `M${x(point.votes)} `}${y(point[name])}`).join("");
  const band = [
    ...plan.curve.flatMap((point, k) => [k && [point.votes, plan.curve[k - 1].high], [point.votes, point.high]]),
    ...[...plan.curve].reverse().flatMap((point, k, all) => [[point.votes, point.low], k + 1 < all.length && [point.votes, all[k + 1].low]]),
  ].filter(Boolean);
  return picture(
    width,
    HEIGHT,
    `Share of simulated studies that are decided: ${percent(plan.chance_decided)} after ${plan.budget} votes.`,
    axes({
      width,
      height: HEIGHT,
      margin: MARGIN,
      x,
      y,
      xTicks: ticks(0, plan.budget, 5).values,
      yTicks: [0, 0.25, 0.5, 0.75, 1],
      xLabel: "votes",
      yLabel: "share of studies",
      formatX: (value) => value.toLocaleString("en"),
      formatY: (value) => percent(value),
    }),
    svg("polygon", { class: "band", points: band.map(([votes, share]) => `${x(votes)},${y(share)}`).join(" ") }),
    svg("path", { class: "curve decided", d: steps("decided") }),
    goal !== "learn" && svg("path", { class: "curve right", d: steps("right") }),
  );
}
