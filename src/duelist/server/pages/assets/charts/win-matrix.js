// The win matrix: arms by rank, a square a pair. Its colour is the share of wins, its size the number of votes, so that 1 of 1 does
// not look like 50 of 50. Drawn on a canvas, since 800 arms make 640,000 squares;
// so many are taken together by rank, until somebody wants each by itself.
import { asNumbers, percent, short } from "./primitives.js";
import { el, named, number, replace, table } from "../shared/dom.js";

const LARGEST = 30;
const LISTED = 40;
const MOST_ALONE = 120;
const BLOCKS = 60;
const RANKS = 36; // pixels for the ranks beside a matrix that has no room for names
const APART = 40;

/** Arms side by side in rank, taken together: what 800 arms show is how ranks fare, not 640,000 single pairs. */
function grouped(arms, cells) {
  const size = Math.ceil(arms.length / BLOCKS);
  const blocks = Math.ceil(arms.length / size);
  const sums = new Map();
  for (const [i, j, wins, losses, ties, bad] of cells) {
    const [one, other] = [Math.floor(i / size), Math.floor(j / size)];
    if (one === other) continue;
    const key = one * blocks + other;
    if (!sums.has(key)) sums.set(key, [one, other, 0, 0, 0, 0]);
    const sum = sums.get(key);
    [wins, losses, ties, bad].forEach((count, k) => {
      sum[2 + k] += count;
    });
  }
  const names = Array.from(
    { length: blocks },
    (_, k) => `ranks ${k * size + 1} to ${Math.min(arms.length, (k + 1) * size)}`,
  );
  return { names, cells: [...sums.values()] };
}

/** What is drawn: names, squares, and what a square says; `together` for groups of ranks. */
function view(arms, all, together) {
  const { names, cells } = together
    ? grouped(arms, all)
    : { names: arms.map((arm, k) => `${k + 1}. ${short(arm, 60)}`), cells: all };
  const pairs = new Map(cells.map((cell) => [cell[0] * names.length + cell[1], cell]));
  const of = (i, j) => {
    const cell = pairs.get(Math.min(i, j) * names.length + Math.max(i, j));
    if (!cell || i === j) return null;
    const [wins, losses] = i < j ? [cell[2], cell[3]] : [cell[3], cell[2]];
    return { wins, losses, ties: cell[4], bad: cell[5], votes: wins + losses + cell[4] };
  };
  const most = cells.reduce((largest, cell) => Math.max(largest, cell[2] + cell[3] + cell[4]), 1);
  const rankOf = (k) => (together ? k * Math.ceil(arms.length / BLOCKS) : k) + 1;
  return { names, cells, of, most, rankOf, count: names.length };
}

function said({ names, of }, i, j) {
  if (i === j) return names[i];
  const found = of(i, j);
  const pair = `${names[i]} against ${names[j]}`;
  if (!found?.votes) return `${pair}: never compared`;
  const share = percent((found.wins + found.ties / 2) / found.votes);
  const bad = found.bad ? `; both bad ${found.bad} times` : "";
  return `${pair}: ${found.wins} won, ${found.losses} lost, ${found.ties} tied of ${found.votes} (${share})${bad}`;
}

// What somebody has chosen outlives a new drawing, of which there is one with every few votes.
const chosen = { mode: "share", at: [0, 1], pointed: false, alone: false };

/** `cells` are [i, j, wins of i, wins of j, ties, both bad] with i < j, in the order of `arms`. */
export function winMatrix({ arms, cells }) {
  if (arms.length < 2) return el("p", { class: "muted" }, "Two arms are needed to compare.");
  if (!cells.length) return el("p", { class: "muted" }, "There is a square as soon as two arms were compared.");
  const many = arms.length > MOST_ALONE;
  const together = () => many && !chosen.alone;
  const state = { shown: view(arms, cells, together()) };
  const inside = (pair) => pair.map((k) => Math.min(state.shown.count - 1, Math.max(0, k)));
  const canvas = el("canvas", {
    tabindex: 0,
    role: "application",
    "aria-roledescription": "win matrix",
    "aria-label": `Win matrix of ${arms.length} arms, best first. Arrow keys move from pair to pair.`,
    "aria-describedby": "pair-said",
  });
  const readout = el(
    "p",
    { class: "readout", id: "pair-said", "aria-live": "polite" },
    chosen.pointed
      ? said(state.shown, ...inside(chosen.at))
      : "Point at a square, or use the arrow keys, to see a pair.",
  );
  const cursor = el("div", { class: "cursor", "aria-hidden": "true" });
  const frame = el("div", { class: "chart matrix" }, canvas, cursor);
  const key = el("div");
  const geometry = () => {
    const width = frame.clientWidth || 600;
    const labelled = state.shown.count <= LARGEST;
    const room = labelled ? Math.min(200, width * 0.3) : RANKS;
    const size = Math.max(1, Math.min(44, Math.floor((Math.min(width - room, 820) / state.shown.count) * 4) / 4));
    return { labelled, room, size, top: 22 };
  };
  const point = () => {
    const { room, top, size } = geometry();
    const [i, j] = inside(chosen.at);
    const box = { left: room + j * size, top: top + i * size, width: Math.max(size, 4), height: Math.max(size, 4) };
    for (const [name, value] of Object.entries(box)) cursor.style[name] = `${value}px`;
  };
  const paint = () => {
    if (!frame.clientWidth) return;
    draw(canvas, { arms, ...chosen, ...state.shown, ...geometry() });
    replace(key, legend(state.shown.most));
    point();
  };
  const say = (i, j) => {
    Object.assign(chosen, { at: inside([i, j]), pointed: true });
    point();
    readout.textContent = said(state.shown, ...chosen.at);
  };
  canvas.addEventListener("pointermove", (event) => {
    const { room, top, size } = geometry();
    const box = canvas.getBoundingClientRect();
    say(Math.floor((event.clientY - box.top - top) / size), Math.floor((event.clientX - box.left - room) / size));
  });
  canvas.addEventListener("keydown", (event) => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!move) return;
    event.preventDefault();
    say(chosen.at[0] + move[0], chosen.at[1] + move[1]);
  });
  new ResizeObserver(paint).observe(frame);
  canvas.repaint = paint;
  const alone =
    many &&
    el(
      "label",
      { class: "inline" },
      el("input", {
        type: "checkbox",
        checked: chosen.alone,
        onchange: (event) => {
          Object.assign(chosen, { at: [0, 1], alone: event.target.checked });
          state.shown = view(arms, cells, together());
          paint();
        },
      }),
      " every arm by itself",
    );
  return el("div", null, modes(paint, alone), frame, readout, key, asNumbers(numbers(arms, cells)));
}

// A canvas does not follow the style sheet by itself.
const repaint = () => {
  for (const canvas of document.querySelectorAll("canvas")) canvas.repaint?.();
};
addEventListener("themechange", repaint);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);

function modes(paint, more) {
  const radio = (value, text) =>
    el(
      "label",
      { class: "inline" },
      el("input", {
        type: "radio",
        name: "matrix-mode",
        value,
        checked: chosen.mode === value,
        onchange: () => {
          chosen.mode = value;
          paint();
        },
      }),
      ` ${text}`,
    );
  return el(
    "fieldset",
    { class: "inline" },
    el("legend", { class: "unseen" }, "What colours show"),
    radio("share", "share of wins, squares larger with more votes"),
    radio("count", "number of votes alone"),
    more,
  );
}

function legend(most) {
  const swatch = (kind, text) => el("span", null, el("i", { class: `swatch ${kind}` }), ` ${text}`);
  return el(
    "p",
    { class: "legend" },
    swatch("cool", "the row wins"),
    swatch("even", "even"),
    swatch("warm", "the column wins"),
    el("span", null, `Largest squares: ${most} ${most === 1 ? "vote" : "votes"}. Empty: never compared.`),
  );
}

function draw(canvas, { arms, count, of, most, mode, cells, rankOf, labelled, room, size, top }) {
  const ratio = devicePixelRatio || 1;
  const [width, height] = [room + count * size + 2, top + count * size + 2];
  canvas.width = Math.ceil(width * ratio);
  canvas.height = Math.ceil(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  const resolved = (name) => {
    canvas.style.color = `var(--${name})`; // a canvas knows no variables
    return getComputedStyle(canvas).color;
  };
  const colour = Object.fromEntries(
    ["cool", "warm", "ink", "muted", "sunken", "s7"].map((name) => [name, resolved(name)]),
  );
  pen.fillStyle = colour.sunken;
  pen.fillRect(room, top, count * size, count * size);
  const square = (i, j) => {
    const found = of(i, j);
    if (!found?.votes) return;
    const share = (found.wins + found.ties / 2) / found.votes;
    const weight = Math.sqrt(found.votes / most);
    const side = mode === "count" || size < 5 ? size : Math.max(2, (size - 1) * (0.25 + 0.75 * weight));
    // Opacity carries how far from even a share is; where squares are too small to differ in size, the number of votes too.
    pen.fillStyle =
      mode === "count" ? colour.s7 : share === 0.5 ? colour.muted : share > 0.5 ? colour.cool : colour.warm;
    const strength = mode === "count" ? 0.12 + 0.88 * weight : 0.25 + 1.5 * Math.abs(share - 0.5);
    pen.globalAlpha = Math.min(1, size < 5 && mode === "share" ? strength * (0.35 + 0.65 * weight) : strength);
    pen.fillRect(room + j * size + (size - side) / 2, top + i * size + (size - side) / 2, side, side);
  };
  for (const [i, j] of cells) {
    square(i, j);
    square(j, i);
  }
  pen.globalAlpha = 1;
  pen.fillStyle = colour.ink;
  pen.font = "12px system-ui, sans-serif";
  pen.textBaseline = "middle";
  if (!labelled) {
    const step = Math.ceil(APART / size);
    for (let k = 0; k < count; k += step) {
      pen.textAlign = "right";
      pen.fillText(rankOf(k), room - 5, top + (k + 0.5) * size);
      pen.textAlign = "center";
      pen.fillText(rankOf(k), room + (k + 0.5) * size, top - 9);
    }
  } else {
    const letters = Math.floor(room / 7.2) - 3;
    arms.forEach((arm, k) => {
      pen.textAlign = "right";
      pen.fillText(size >= 11 ? `${short(arm, letters)} ${k + 1}` : "", room - 5, top + (k + 0.5) * size);
      pen.textAlign = "center";
      if (size >= 15) pen.fillText(k + 1, room + (k + 0.5) * size, top - 9);
    });
  }
}

/** The pairs most compared, since a table of all would help nobody. */
function numbers(arms, cells) {
  const holder = el("div");
  const fill = () => {
    const most = [...cells].sort((a, b) => b[2] + b[3] + b[4] - (a[2] + a[3] + a[4])).slice(0, LISTED);
    replace(
      holder,
      table(
        cells.length > LISTED ? `The ${LISTED} pairs compared most, of ${cells.length}` : "All pairs compared",
        ["arm", "against", "won", "lost", "tied", "both bad", "share"],
        most.map(([i, j, wins, losses, ties, bad]) => [
          named(arms[i]),
          named(arms[j]),
          wins,
          losses,
          ties,
          bad,
          number(wins + losses + ties ? percent((wins + ties / 2) / (wins + losses + ties)) : "–"),
        ]),
      ),
    );
  };
  fill();
  return holder;
}
