// The probability of being the best over time: one line per item, labeled at its end, distinguished by color and dashes.
import { el, number, svg, table } from "../shared/dom.js";
import { itemImage, itemLabel, itemName } from "../shared/item-names.js";
import { asTable, axes, percent, picture, responsive, scale, shorten, ticks } from "./primitives.js";

const LABEL_SPACING = 15;

export function probabilityLines({ votes, series }) {
  if (votes.length < 2) return el("p", { class: "muted" }, "The chart appears once there are votes.");
  const chart = responsive((width) => draw(votes, series, width));
  const rows = votes.map((count, k) => [count, ...series.map((each) => number(percent(each.chance[k])))]);
  const headers = ["votes", ...series.map((each) => itemName(each.arm))];
  return el("div", null, chart, asTable(table("Probability of being the best, by number of votes", headers, rows)));
}

function draw(votes, series, width) {
  const height = 280;
  const labelWidth = Math.min(190, width * 0.3);
  const margin = { left: 44, right: labelWidth, top: 20, bottom: 34 };
  const lastVotes = votes.at(-1);
  const x = scale([votes[0], lastVotes], [margin.left, width - margin.right]);
  const y = scale([0, 1], [height - margin.bottom, margin.top]);
  const characters = Math.floor((labelWidth - 50) / 7);
  const labels = spread(
    series.map((each) => y(each.chance.at(-1))),
    margin.top,
    height - margin.bottom,
  );
  return picture(
    width,
    height,
    `Probability of being the best for ${series.length} items over ${lastVotes} votes; the table below has the numbers.`,
    axes({
      width,
      height,
      margin,
      x,
      y,
      xTicks: ticks(votes[0], lastVotes, width > 600 ? 6 : 3).values,
      yTicks: [0, 0.25, 0.5, 0.75, 1],
      xLabel: "votes",
      yLabel: "probability of being the best",
      formatY: percent,
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
        svg("title", null, itemLabel(each.arm)),
      ),
      svg("line", {
        class: `line thin s${k % 8}`,
        x1: x(lastVotes),
        x2: x(lastVotes) + 12,
        y1: y(each.chance.at(-1)),
        y2: labels[k],
      }),
      svg(
        "text",
        { class: `label t${k % 8}`, x: x(lastVotes) + (itemImage(each.arm) ? 31 : 15), y: labels[k] + 4 },
        svg("title", null, itemLabel(each.arm)),
        `${shorten(itemLabel(each.arm), characters - (itemImage(each.arm) ? 2 : 0))} ${percent(each.chance.at(-1))}`,
      ),
      itemImage(each.arm) &&
        svg("image", { href: itemImage(each.arm), x: x(lastVotes) + 15, y: labels[k] - 7, width: 14, height: 14 }),
    ]),
  );
}

/** Move labels apart, so that they are as close as possible to where they belong and do not overlap. */
function spread(wanted, top, bottom) {
  const order = wanted.map((position, k) => [position, k]).sort(([a], [b]) => a - b);
  let last = top - LABEL_SPACING;
  for (const each of order) last = each[0] = Math.max(each[0], last + LABEL_SPACING);
  let limit = bottom + LABEL_SPACING;
  for (const each of order.toReversed()) limit = each[0] = Math.min(each[0], limit - LABEL_SPACING);
  const positions = [];
  for (const [position, k] of order) positions[k] = position;
  return positions;
}
