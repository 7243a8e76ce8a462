// The chance of being best over time: a line an arm, named at its end, told apart by colour and by dashes.
import { asNumbers, axes, percent, picture, responsive, scale, short, ticks } from "./primitives.js";
import { el, named, number, svg, table } from "../shared/dom.js";

const APART = 15;

export function chanceLines({ votes, series }) {
  if (votes.length < 2) return el("p", { class: "muted" }, "There is a line as soon as there are votes.");
  const chart = responsive((width) => draw(votes, series, width));
  const rows = votes.map((count, k) => [count, ...series.map((each) => number(percent(each.chance[k])))]);
  return el(
    "div",
    null,
    chart,
    asNumbers(
      table("Chance of being best, after so many votes", ["votes", ...series.map((each) => named(each.arm))], rows),
    ),
  );
}

function draw(votes, series, width) {
  const height = 280;
  const room = Math.min(190, width * 0.3);
  const margin = { left: 44, right: room, top: 20, bottom: 34 };
  const x = scale([votes[0], votes.at(-1)], [margin.left, width - margin.right]);
  const y = scale([0, 1], [height - margin.bottom, margin.top]);
  const xs = ticks(votes[0], votes.at(-1), width > 600 ? 6 : 3).found;
  const letters = Math.floor((room - 50) / 7);
  const labels = apart(
    series.map((each) => y(each.chance.at(-1))),
    margin.top,
    height - margin.bottom,
  );
  return picture(
    width,
    height,
    `Chance of being best of ${series.length} arms over ${votes.at(-1)} votes; the numbers are in the table below`,
    axes({
      width,
      height,
      margin,
      x,
      y,
      xs,
      ys: [0, 0.25, 0.5, 0.75, 1],
      xName: "votes",
      yName: "chance of being best",
      yText: percent,
    }),
    series.map((each, k) => [
      svg(
        "path",
        {
          class: `line s${k % 8} dash${k % 4}`,
          d: each.chance
            .map((chance, i) => `${i ? "L" : "M"}${x(votes[i]).toFixed(1)} ${y(chance).toFixed(1)}`)
            .join(""),
        },
        svg("title", null, each.arm),
      ),
      svg("line", {
        class: `line thin s${k % 8}`,
        x1: x(votes.at(-1)),
        x2: x(votes.at(-1)) + 12,
        y1: y(each.chance.at(-1)),
        y2: labels[k],
      }),
      svg(
        "text",
        { class: `label t${k % 8}`, x: x(votes.at(-1)) + 15, y: labels[k] + 4 },
        svg("title", null, each.arm),
        `${short(each.arm, letters)} ${percent(each.chance.at(-1))}`,
      ),
    ]),
  );
}

/** Places near those wanted, none nearer to the next than a line of text. */
function apart(wanted, top, bottom) {
  const order = wanted.map((place, k) => [place, k]).sort(([a], [b]) => a - b);
  let last = top - APART;
  for (const each of order) last = each[0] = Math.max(each[0], last + APART);
  let limit = bottom + APART;
  for (const each of order.toReversed()) limit = each[0] = Math.min(each[0], limit - APART);
  const places = [];
  for (const [place, k] of order) places[k] = place;
  return places;
}
