// The win matrix: arms by rank, a square a pair. Its colour is the share of wins, its size the number of votes, so that 1 of 1 does
// not look like 50 of 50. Drawn on a canvas, since 800 arms make 640,000 squares.
import { asNumbers, percent, short } from "./chart.js";
import { el, named, number, replace, table } from "./dom.js";

const LARGEST = 30;
const LISTED = 40;

/** `cells` are [i, j, wins of i, wins of j, ties, both bad] with i < j, in the order of `arms`. */
export function winMatrix({ arms, cells }) {
  if (arms.length < 2) return el("p", { class: "muted" }, "Two arms are needed to compare.");
  const state = { mode: "share", at: [0, 1] };
  const pairs = new Map(cells.map((cell) => [cell[0] * arms.length + cell[1], cell]));
  const most = Math.max(1, ...cells.map((cell) => cell[2] + cell[3] + cell[4]));
  const of = (i, j) => {
    const cell = pairs.get(Math.min(i, j) * arms.length + Math.max(i, j));
    if (!cell || i === j) return null;
    const [wins, losses] = i < j ? [cell[2], cell[3]] : [cell[3], cell[2]];
    return { wins, losses, ties: cell[4], bad: cell[5], votes: wins + losses + cell[4] };
  };
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
    "Point at a square, or use the arrow keys, to see a pair.",
  );
  const frame = el("div", { class: "chart" }, canvas);
  const geometry = () => {
    const width = frame.clientWidth || 600;
    const labelled = arms.length <= LARGEST;
    const room = labelled ? Math.min(200, width * 0.3) : 4;
    const size = Math.max(1, Math.min(44, Math.floor((Math.min(width - room, 820) / arms.length) * 4) / 4));
    return { labelled, room, size, top: labelled ? 22 : 4 };
  };
  const paint = () => {
    if (frame.clientWidth) draw(canvas, { arms, of, most, state, cells, ...geometry() });
  };
  const say = (i, j) => {
    state.at = [i, j];
    paint();
    const found = of(i, j);
    const names = `${i + 1}. ${short(arms[i], 60)} against ${j + 1}. ${short(arms[j], 60)}`;
    readout.textContent =
      i === j
        ? `${i + 1}. ${short(arms[i], 60)}`
        : !found || !found.votes
          ? `${names}: never compared`
          : `${names}: ${found.wins} won, ${found.losses} lost, ${found.ties} tied of ${found.votes} (${percent((found.wins + found.ties / 2) / found.votes)})` +
            (found.bad ? `; both bad ${found.bad} times` : "");
  };
  const inside = (k) => Math.min(arms.length - 1, Math.max(0, k));
  canvas.addEventListener("pointermove", (event) => {
    const { room, top, size } = geometry();
    const box = canvas.getBoundingClientRect();
    say(
      inside(Math.floor((event.clientY - box.top - top) / size)),
      inside(Math.floor((event.clientX - box.left - room) / size)),
    );
  });
  canvas.addEventListener("keydown", (event) => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!move) return;
    event.preventDefault();
    say(inside(state.at[0] + move[0]), inside(state.at[1] + move[1]));
  });
  new ResizeObserver(paint).observe(frame);
  addEventListener("themechange", () => canvas.isConnected && paint());
  return el("div", null, modes(state, paint), frame, readout, legend(most), asNumbers(numbers(arms, cells)));
}

function modes(state, paint) {
  const radio = (value, text) =>
    el(
      "label",
      { class: "inline" },
      el("input", {
        type: "radio",
        name: "matrix-mode",
        value,
        checked: state.mode === value,
        onchange: () => {
          state.mode = value;
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

function draw(canvas, { arms, of, most, state, cells, labelled, room, size, top }) {
  const ratio = devicePixelRatio || 1;
  const [width, height] = [room + arms.length * size + 2, top + arms.length * size + 2];
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
  pen.fillRect(room, top, arms.length * size, arms.length * size);
  const square = (i, j) => {
    const found = of(i, j);
    if (!found?.votes) return;
    const share = (found.wins + found.ties / 2) / found.votes;
    const weight = Math.sqrt(found.votes / most);
    const side = state.mode === "count" || size < 5 ? size : Math.max(2, (size - 1) * (0.25 + 0.75 * weight));
    // Opacity carries how far from even a share is; where squares are too small to differ in size, the number of votes too.
    pen.fillStyle =
      state.mode === "count" ? colour.s7 : share === 0.5 ? colour.muted : share > 0.5 ? colour.cool : colour.warm;
    const strength = state.mode === "count" ? 0.12 + 0.88 * weight : 0.25 + 1.5 * Math.abs(share - 0.5);
    pen.globalAlpha = Math.min(1, size < 5 && state.mode === "share" ? strength * (0.35 + 0.65 * weight) : strength);
    pen.fillRect(room + j * size + (size - side) / 2, top + i * size + (size - side) / 2, side, side);
  };
  for (const [i, j] of cells) {
    square(i, j);
    square(j, i);
  }
  pen.globalAlpha = 1;
  if (labelled) {
    pen.fillStyle = colour.ink;
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    const letters = Math.floor(room / 7.2) - 3;
    arms.forEach((arm, k) => {
      pen.textAlign = "right";
      pen.fillText(size >= 11 ? `${short(arm, letters)} ${k + 1}` : "", room - 5, top + (k + 0.5) * size);
      pen.textAlign = "center";
      if (size >= 15) pen.fillText(k + 1, room + (k + 0.5) * size, top - 9);
    });
  }
  const [i, j] = state.at;
  pen.strokeStyle = colour.ink;
  pen.lineWidth = 1.5;
  pen.strokeRect(room + j * size, top + i * size, Math.max(size, 4), Math.max(size, 4));
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
