// The win matrix: items sorted by rank, one square per pair. Color shows the share of wins and size the number of votes, so that 1 of 1
// differs from 50 of 50. It is drawn on a canvas, because 800 items make 640,000 squares; that many are grouped by rank, unless the user
// wants to see every item.
import { el, number, replace, table } from "../shared/dom.js";
import { itemImage, itemLabel, itemName } from "../shared/item-names.js";
import { asTable, percent, shorten } from "./primitives.js";

const MAX_LABELED = 30; // items with room for their names
const MAX_LISTED = 40; // pairs in the table
const MAX_UNGROUPED = 120;
const GROUPS = 60;
const RANK_LABELS = 36; // pixels for ranks, where there is no room for names
const LABEL_SPACING = 40;

/** Sum the votes of pairs over groups of neighboring ranks. */
function groupByRank(items, cells) {
  const size = Math.ceil(items.length / GROUPS);
  const count = Math.ceil(items.length / size);
  const sums = new Map();
  for (const [i, j, wins, losses, ties, bothBad] of cells) {
    const [row, column] = [Math.floor(i / size), Math.floor(j / size)];
    if (row === column) continue;
    const key = row * count + column;
    if (!sums.has(key)) sums.set(key, [row, column, 0, 0, 0, 0]);
    const sum = sums.get(key);
    [wins, losses, ties, bothBad].forEach((value, k) => {
      sum[2 + k] += value;
    });
  }
  const names = Array.from(
    { length: count },
    (_, k) => `ranks ${k * size + 1} to ${Math.min(items.length, (k + 1) * size)}`,
  );
  return { names, cells: [...sums.values()] };
}

/** The names of the rows and the cells to draw, for items or for groups of ranks. */
function createView(items, allCells, isGrouped) {
  const { names, cells } = isGrouped
    ? groupByRank(items, allCells)
    : { names: items.map((item, k) => `${k + 1}. ${shorten(itemLabel(item), 60)}`), cells: allCells };
  const byPair = new Map(cells.map((cell) => [cell[0] * names.length + cell[1], cell]));
  const votesOn = (i, j) => {
    const cell = byPair.get(Math.min(i, j) * names.length + Math.max(i, j));
    if (!cell || i === j) return null;
    const [wins, losses] = i < j ? [cell[2], cell[3]] : [cell[3], cell[2]];
    return { wins, losses, ties: cell[4], bothBad: cell[5], votes: wins + losses + cell[4] };
  };
  const mostVotes = cells.reduce((largest, cell) => Math.max(largest, cell[2] + cell[3] + cell[4]), 1);
  const rankOf = (k) => (isGrouped ? k * Math.ceil(items.length / GROUPS) : k) + 1;
  return { names, cells, votesOn, mostVotes, rankOf, count: names.length };
}

function describePair({ names, votesOn }, i, j) {
  if (i === j) return names[i];
  const found = votesOn(i, j);
  const pair = `${names[i]} against ${names[j]}`;
  if (!found?.votes) return `${pair}: never compared`;
  const share = percent((found.wins + found.ties / 2) / found.votes);
  const bothBad = found.bothBad ? `; ${found.bothBad} both bad` : "";
  return `${pair}: ${found.wins} won, ${found.losses} lost, ${found.ties} tied of ${found.votes} (${share})${bothBad}`;
}

// The user's choices outlive the drawing, which is replaced whenever votes arrive.
const choices = { mode: "share", cursor: [0, 1], hasMoved: false, showAll: false };

/** `cells` are [i, j, wins of i, wins of j, ties, both bad] with i < j; `arms` are sorted by rank. */
export function winMatrix({ arms: items, cells }) {
  if (items.length < 2) return el("p", { class: "muted" }, "Add at least two items to see their pairs.");
  if (!cells.length) return el("p", { class: "muted" }, "The matrix appears once two items were compared.");
  const canGroup = items.length > MAX_UNGROUPED;
  const newView = () => createView(items, cells, canGroup && !choices.showAll);
  let view = newView();
  const clamp = (pair) => pair.map((k) => Math.min(view.count - 1, Math.max(0, k)));
  const canvas = el("canvas", {
    tabindex: 0,
    role: "application",
    "aria-roledescription": "win matrix",
    "aria-label": `Win matrix of ${items.length} items, best first. The arrow keys move from pair to pair.`,
    "aria-describedby": "pair-readout",
  });
  const readout = el(
    "p",
    { class: "readout", id: "pair-readout", "aria-live": "polite" },
    choices.hasMoved
      ? describePair(view, ...clamp(choices.cursor))
      : "Hover over a square, or use the arrow keys, to see a pair.",
  );
  const cursor = el("div", { class: "cursor", "aria-hidden": "true" });
  const frame = el("div", { class: "chart matrix" }, canvas, cursor);
  const legendHolder = el("div");
  const geometry = () => {
    const width = frame.clientWidth || 600;
    const isLabeled = view.count <= MAX_LABELED;
    const left = isLabeled ? Math.min(200, width * 0.3) : RANK_LABELS;
    const size = Math.max(1, Math.min(44, Math.floor((Math.min(width - left, 820) / view.count) * 4) / 4));
    return { isLabeled, left, size, top: 22 };
  };
  const placeCursor = () => {
    const { left, top, size } = geometry();
    const [i, j] = clamp(choices.cursor);
    const box = { left: left + j * size, top: top + i * size, width: Math.max(size, 4), height: Math.max(size, 4) };
    for (const [name, value] of Object.entries(box)) cursor.style[name] = `${value}px`;
  };
  const paint = () => {
    if (!frame.clientWidth) return;
    draw(canvas, { items, mode: choices.mode, ...view, ...geometry() });
    replace(legendHolder, legend(view.mostVotes));
    placeCursor();
  };
  const select = (i, j) => {
    Object.assign(choices, { cursor: clamp([i, j]), hasMoved: true });
    placeCursor();
    readout.textContent = describePair(view, ...choices.cursor);
  };
  canvas.addEventListener("pointermove", (event) => {
    const { left, top, size } = geometry();
    const box = canvas.getBoundingClientRect();
    select(Math.floor((event.clientY - box.top - top) / size), Math.floor((event.clientX - box.left - left) / size));
  });
  canvas.addEventListener("keydown", (event) => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!move) return;
    event.preventDefault();
    select(choices.cursor[0] + move[0], choices.cursor[1] + move[1]);
  });
  new ResizeObserver(paint).observe(frame);
  canvas.repaint = paint;
  const toggleAll = (event) => {
    Object.assign(choices, { cursor: [0, 1], showAll: event.target.checked });
    view = newView();
    paint();
  };
  const showAll =
    canGroup &&
    el(
      "label",
      { class: "inline" },
      el("input", { type: "checkbox", checked: choices.showAll, onchange: toggleAll }),
      " show every item",
    );
  return el("div", null, modeChoice(paint, showAll), frame, readout, legendHolder, asTable(pairTable(items, cells)));
}

// A canvas does not follow the style sheet by itself.
const repaintAll = () => {
  for (const canvas of document.querySelectorAll("canvas")) canvas.repaint?.();
};
addEventListener("themechange", repaintAll);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaintAll);

function modeChoice(paint, ...more) {
  const radio = (value, text) =>
    el(
      "label",
      { class: "inline" },
      el("input", {
        type: "radio",
        name: "matrix-mode",
        value,
        checked: choices.mode === value,
        onchange: () => {
          choices.mode = value;
          paint();
        },
      }),
      ` ${text}`,
    );
  return el(
    "fieldset",
    { class: "inline" },
    el("legend", { class: "visually-hidden" }, "Colors show"),
    radio("share", "share of wins (larger squares have more votes)"),
    radio("count", "number of votes"),
    more,
  );
}

function legend(mostVotes) {
  const swatch = (kind, text) => el("span", null, el("i", { class: `swatch ${kind}` }), ` ${text}`);
  return el(
    "p",
    { class: "legend" },
    swatch("cool", "row wins"),
    swatch("even", "even"),
    swatch("warm", "column wins"),
    el("span", null, `Largest squares: ${mostVotes} ${mostVotes === 1 ? "vote" : "votes"}. Empty: never compared.`),
  );
}

function draw(canvas, { items, mode, count, votesOn, mostVotes, cells, rankOf, isLabeled, left, size, top }) {
  const ratio = devicePixelRatio || 1;
  const [width, height] = [left + count * size + 2, top + count * size + 2];
  canvas.width = Math.ceil(width * ratio);
  canvas.height = Math.ceil(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  const resolve = (name) => {
    canvas.style.color = `var(--${name})`; // a canvas context does not resolve CSS variables
    return getComputedStyle(canvas).color;
  };
  const colors = Object.fromEntries(
    ["cool", "warm", "ink", "muted", "sunken", "s7"].map((name) => [name, resolve(name)]),
  );
  pen.fillStyle = colors.sunken;
  pen.fillRect(left, top, count * size, count * size);
  const square = (i, j) => {
    const found = votesOn(i, j);
    if (!found?.votes) return;
    const share = (found.wins + found.ties / 2) / found.votes;
    const weight = Math.sqrt(found.votes / mostVotes);
    const side = mode === "count" || size < 5 ? size : Math.max(2, (size - 1) * (0.25 + 0.75 * weight));
    // Opacity shows how far a share is from even; for squares too small to vary in size, also the number of votes.
    pen.fillStyle =
      mode === "count" ? colors.s7 : share === 0.5 ? colors.muted : share > 0.5 ? colors.cool : colors.warm;
    const strength = mode === "count" ? 0.12 + 0.88 * weight : 0.25 + 1.5 * Math.abs(share - 0.5);
    pen.globalAlpha = Math.min(1, size < 5 && mode === "share" ? strength * (0.35 + 0.65 * weight) : strength);
    pen.fillRect(left + j * size + (size - side) / 2, top + i * size + (size - side) / 2, side, side);
  };
  for (const [i, j] of cells) {
    square(i, j);
    square(j, i);
  }
  pen.globalAlpha = 1;
  pen.fillStyle = colors.ink;
  pen.font = "12px system-ui, sans-serif";
  pen.textBaseline = "middle";
  if (isLabeled) {
    const characters = Math.floor(left / 7.2) - 3;
    items.forEach((item, k) => {
      const image = size >= 11 ? thumbnail(item, canvas.repaint) : null;
      const side = image ? Math.min(size - 2, 32) : 0;
      if (side) pen.drawImage(image, left - 4 - side, top + (k + 0.5) * size - side / 2, side, side);
      pen.textAlign = "right";
      const text = `${shorten(itemLabel(item), characters - Math.ceil(side / 7))} ${k + 1}`;
      pen.fillText(size >= 11 ? text : "", left - 5 - side, top + (k + 0.5) * size);
      pen.textAlign = "center";
      if (size >= 15) pen.fillText(k + 1, left + (k + 0.5) * size, top - 9);
    });
  } else {
    const step = Math.ceil(LABEL_SPACING / size);
    for (let k = 0; k < count; k += step) {
      pen.textAlign = "right";
      pen.fillText(rankOf(k), left - 5, top + (k + 0.5) * size);
      pen.textAlign = "center";
      pen.fillText(rankOf(k), left + (k + 0.5) * size, top - 9);
    }
  }
}

const thumbnails = new Map(); // by address

/** The picture of an item once it is loaded, which paints again; null until then and for items without one. */
function thumbnail(item, repaint) {
  const source = itemImage(item);
  if (source === null) return null;
  if (!thumbnails.has(source)) {
    const image = new Image();
    image.onload = () => repaint?.();
    image.src = source;
    thumbnails.set(source, image);
  }
  const image = thumbnails.get(source);
  return image.complete && image.naturalWidth ? image : null;
}

/** A table of the pairs with the most votes. */
function pairTable(items, cells) {
  const votes = (cell) => cell[2] + cell[3] + cell[4];
  const listed = [...cells].sort((a, b) => votes(b) - votes(a)).slice(0, MAX_LISTED);
  return table(
    cells.length > MAX_LISTED
      ? `The ${MAX_LISTED} pairs with the most votes, of ${cells.length}`
      : "All compared pairs",
    ["item", "against", "won", "lost", "tied", "both bad", "share"],
    listed.map((cell) => {
      const [i, j, wins, losses, ties, bothBad] = cell;
      const share = votes(cell) ? percent((wins + ties / 2) / votes(cell)) : "–";
      return [itemName(items[i]), itemName(items[j]), wins, losses, ties, bothBad, number(share)];
    }),
  );
}
