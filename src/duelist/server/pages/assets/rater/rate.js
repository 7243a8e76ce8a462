// The rater's page. One pair is on the screen, the next is there already; a vote is kept first, then shown as given, then sent.
import { ApiError, get, post, register, sentenceOf, session, signInByLink, studyHere } from "../shared/api.js";
import { content, warm } from "../shared/content.js";
import { announce, button, el, find, replace } from "../shared/dom.js";
import { Answers } from "./vote-bar.js";
import { help, pressed, showGuidelines } from "./shortcuts.js";
import { Outbox } from "./offline-queue.js";
import { together } from "./media-sync.js";
import { zoom } from "./lightbox.js";

const study = studyHere();
const SETTLE = 350; // a second click of a double click belongs to the pair before
const REMEMBERED = 5;
const AGAIN = 15_000;

const state = { me: null, current: null, ahead: [], shownAt: 0, given: 0, bar: null, stopped: null, fetching: null };
let answers;
let outbox;

// -- kept in the browser ----------------------------------------------------------------------------------------------

const place = (name) => `duelist-${name}-${study}-${state.me?.rater ?? ""}`;
const kept = (name, otherwise) => {
  try {
    return JSON.parse(localStorage.getItem(place(name))) ?? otherwise;
  } catch {
    return otherwise;
  }
};
const keep = (name, value) => {
  try {
    localStorage.setItem(place(name), JSON.stringify(value));
  } catch {
    /* full or forbidden: undo forgets, votes are told */
  }
};

// -- pairs ------------------------------------------------------------------------------------------------------------

const onScreen = () => [state.current, ...state.ahead].filter(Boolean).map((duel) => duel.id);

/** Bring the pair to show and the one after it; votes go first, since the server must not ask them again. */
function refill() {
  state.fetching ??= fill().finally(() => {
    state.fetching = null;
  });
  return state.fetching;
}

async function fill() {
  while (!state.current || !state.ahead.length) {
    if (!(await outbox.flush())) return;
    const besides = onScreen();
    try {
      const duel = await post(`/studies/${study}/ask`, besides.length ? { in_progress: besides } : {});
      if (onScreen().includes(duel.id)) return; // undone meanwhile, and on the screen already
      state.stopped = null;
      if (state.current) state.ahead.push(duel);
      else show(duel);
      for (const side of [duel.first, duel.second]) warm(side.content);
    } catch (error) {
      state.stopped = error;
      if (!state.current) rest(error);
      return;
    }
  }
}

function show(duel) {
  state.current = duel;
  state.shownAt = performance.now();
  find("#empty").hidden = true;
  find("#work").hidden = false;
  find("#answers").hidden = false;
  find("#prompt").hidden = !duel.prompt;
  replace(find("#prompt-content"), duel.prompt && content(duel.prompt));
  const sides = [duel.first, duel.second].map((side) => content(side.content));
  replace(find("#left"), sides[0]);
  replace(find("#right"), sides[1]);
  const media = sides.map((side) => side.querySelector("video, audio"));
  state.bar = together(...media);
  replace(find("#media"), state.bar);
  find("#reason").value = "";
  answers.begin();
  scrollTo({ top: 0 });
  announce("New pair.");
}

// -- answers ----------------------------------------------------------------------------------------------------------

const ready = () => state.current !== null && performance.now() - state.shownAt >= SETTLE;

function vote(outcomes) {
  const duel = state.current;
  const single = Object.keys(outcomes).length === 1 && "" in outcomes;
  const reason = find("#reason").value.trim();
  const body = {
    duel: duel.id,
    ...(single ? { outcome: outcomes[""] } : { outcomes }),
    ...(reason ? { reason } : {}),
    response_seconds: Math.round(performance.now() - state.shownAt) / 1000,
  };
  keep("given", [...kept("given", []), { duel, outcomes }].slice(-REMEMBERED));
  state.current = null;
  state.given += 1;
  outbox.add({ kind: "vote", duel: duel.id, body });
  next();
  say();
}

function next() {
  const duel = state.ahead.shift();
  if (duel) show(duel);
  else waiting();
  refill();
}

async function undo() {
  const given = kept("given", []);
  const last = given.at(-1);
  if (!last) return undoOlder();
  keep("given", given.slice(0, -1));
  if (state.current) state.ahead.unshift(state.current);
  if (!outbox.takeBack(last.duel.id))
    outbox.add({ kind: "undo", duel: last.duel.id, criteria: Object.keys(last.outcomes) });
  state.given -= 1;
  show(last.duel);
  answers.recall(last.outcomes);
  say();
  announce("Your last answer is taken back. Here is the pair again.");
}

/** A vote from another day or machine: its pair comes back from the server. */
async function undoOlder() {
  const last = state.me.last?.[0];
  if (!last) return announce("There is nothing to take back.");
  const criteria = state.me.criteria.length ? state.me.criteria : [""];
  try {
    await send({ kind: "undo", duel: last.duel, criteria });
    const duel = await post(`/studies/${study}/ask`, { in_progress: onScreen().slice(0, 3) });
    if (state.current) state.ahead.unshift(state.current);
    state.given -= 1;
    state.me.last = state.me.last.filter((each) => each.duel !== last.duel);
    show(duel);
    say();
  } catch (error) {
    notice(sentenceOf(error));
  }
  return null;
}

/** After each step of the outbox: what is waiting, what was refused, and on with the next pair. */
function sent(error) {
  if (error instanceof ApiError && !error.passing && error.code !== "study_not_open") {
    state.given -= 1;
    notice(`An answer was not taken. ${sentenceOf(error)}`);
  }
  say(error);
  if (!error && !state.current) refill();
}

async function send(item) {
  if (item.kind === "vote") return post(`/studies/${study}/votes`, item.body);
  for (const criterion of item.criteria) {
    await post(`/studies/${study}/undo`, { duel: item.duel, ...(criterion ? { criterion } : {}) });
  }
  return null;
}

// -- what is said around the pair -------------------------------------------------------------------------------------

function say(error = null) {
  const waiting = outbox.items.filter((item) => item.kind === "vote").length;
  const held = waiting === 1 ? "1 answer is" : `${waiting} answers are`;
  const line = find("#sent");
  if (error?.status === 401)
    line.textContent = `Your link has ended; ${held} kept in this browser. Ask for a new link.`;
  else if (error && waiting)
    line.textContent = `${sentenceOf(error)} ${held} kept in this browser and sent as soon as possible.`;
  else if (waiting) line.textContent = "Sending…";
  else line.textContent = state.given > 0 ? "All answers are sent." : "";
  line.className = error && waiting ? "warn" : "muted";
  const most = state.me.max_votes;
  const total = state.me.votes + state.given;
  find("#progress").textContent = most
    ? `${total} of ${most} answers`
    : `${total} ${total === 1 ? "answer" : "answers"} so far`;
}

function notice(text) {
  replace(
    find("#notice"),
    text &&
      el(
        "p",
        { class: "note warn" },
        text,
        " ",
        button("Close", () => notice(null), { class: "small" }),
      ),
  );
}

function waiting() {
  find("#work").hidden = true;
  find("#answers").hidden = !outbox.items.length;
  replace(find("#empty"), el("p", null, "The next pair is on its way…"));
  find("#empty").hidden = false;
}

const RESTING = {
  nothing_left: ["Thank you, that was all.", "You have answered every pair that there is for you."],
  limit_reached: ["Thank you, that was all.", "There are as many answers as were wanted."],
  nothing_to_ask: [
    "Nothing to compare at the moment.",
    "All pairs are with other people. This page looks again by itself.",
  ],
  study_not_open: [
    "This study is not open at the moment.",
    "This page looks again by itself; you can also come back later.",
  ],
  rater_blocked: ["You are not asked any more.", "Ask the people who run the study if you think that is wrong."],
};

function rest(error) {
  find("#work").hidden = true;
  find("#answers").hidden = false;
  answers?.rest();
  const [title, text] =
    RESTING[error.code] ??
    (error.status === 401
      ? [
          "Your link has ended.",
          "Ask the people who run the study for a new one. Answers that were not sent yet are kept in this browser.",
        ]
      : ["No pair at the moment.", `${sentenceOf(error)} This page tries again by itself.`]);
  replace(
    find("#empty"),
    el("h2", null, title),
    el("p", null, text),
    el(
      "p",
      null,
      button("Look again", () => refill(), { class: "primary" }),
    ),
  );
  find("#empty").hidden = false;
  announce(`${title} ${text}`);
}

// -- keys and clicks --------------------------------------------------------------------------------------------------

const ACTIONS = {
  ArrowLeft: () => answers.choose("first"),
  ArrowRight: () => answers.choose("second"),
  ArrowDown: () => answers.choose("tie"),
  b: () => answers.choose("both_bad"),
  s: () => answers.choose("skip"),
  u: undo,
  "?": () => help(answers.offered, state.me.ask_reason),
  g: () => showGuidelines(state.me.guidelines),
  r: () => find("#reason").focus(),
  p: () => state.bar?.playOrPause(),
  h: () => state.bar?.hearOther(),
};

function onKey(event) {
  if (event.key === "Escape" && event.target === find("#reason")) find("#pair").focus();
  const action = pressed(event, ACTIONS);
  if (!action || (!state.current && !"u?g".includes(event.key))) return;
  event.preventDefault();
  action();
}

function onClick(event) {
  const image = event.target.closest("[data-zoom]");
  if (!image) return;
  const pictures = ["#left", "#right"].map((side) => [...find(side).querySelectorAll("[data-zoom]")]);
  const side = pictures.findIndex((each) => each.includes(image));
  if (side < 0) return zoom([[image.dataset.zoom], []], { side: 0, index: 0 });
  zoom(
    pictures.map((each) => each.map((one) => one.dataset.zoom)),
    { side, index: pictures[side].indexOf(image) },
  );
}

// -- coming in --------------------------------------------------------------------------------------------------------

async function enter() {
  await signInByLink();
  const found = await session(study);
  if (found.scope !== "rater") throw new ApiError(401, { code: "owner", message: "this is the page of raters" });
}

const CLOSED = {
  not_signed_in: [
    "Open the link that you were sent.",
    "It has a key in it, without which this page does not know who you are.",
  ],
  token_unknown: ["This link has ended.", "Ask the people who run the study for a new one."],
  owner: [
    "This is the page of raters.",
    "You are signed in as one who runs the study. To rate yourself, make a link with your name.",
  ],
};

function door(error) {
  const name = el("input", { name: "name", autocomplete: "nickname", maxlength: 100, dir: "auto" });
  const said = el("p", { role: "alert" });
  const form = el(
    "form",
    {
      onsubmit: async (event) => {
        event.preventDefault();
        try {
          await register(study, name.value.trim());
          find("#empty").hidden = true;
          await begin();
        } catch (refused) {
          said.textContent = sentenceOf(refused);
        }
      },
    },
    el("label", null, "Your name, or any other that you like", name),
    said,
    el("p", { class: "buttons" }, el("button", { class: "primary" }, "Take part")),
  );
  const [title, text] = CLOSED[error.code] ?? CLOSED.not_signed_in;
  replace(
    find("#empty"),
    el("h2", null, title),
    el("p", null, text),
    el("p", null, "If this study is open to everybody, you can take part without a link:"),
    form,
  );
  find("#empty").hidden = false;
}

async function begin() {
  state.me = await get(`/studies/${study}/me`);
  document.title = `${state.me.study_name} · duelist`;
  find("#title").textContent = state.me.study_name;
  find("#question").textContent = state.me.question ?? "Which is better?";
  find("#reason-label").hidden = !state.me.ask_reason;
  find("#show-guidelines").hidden = !state.me.guidelines;
  answers = new Answers(find("#answers"), state.me.criteria, state.me.answers, { vote, undo, ready });
  outbox = new Outbox(place("outbox"), send, sent);
  state.given = outbox.items.reduce((sum, item) => sum + (item.kind === "vote" ? 1 : -1), 0);
  if (state.me.guidelines && !kept("read-guidelines", false)) {
    keep("read-guidelines", true);
    showGuidelines(state.me.guidelines);
  }
  say();
  await refill();
  setInterval(() => {
    if (
      !state.current &&
      !document.hidden &&
      !["nothing_left", "limit_reached", "rater_blocked"].includes(state.stopped?.code)
    )
      refill();
  }, AGAIN);
}

addEventListener("keydown", onKey);
addEventListener("hashchange", () => location.reload()); // another link was opened in this tab
addEventListener("click", onClick);
addEventListener("online", () => outbox && refill());
find("#show-help").addEventListener("click", () => help(answers?.offered ?? [], state.me?.ask_reason));
find("#show-guidelines").addEventListener("click", () => showGuidelines(state.me.guidelines));
try {
  await enter();
  await begin();
} catch (error) {
  if (error.status === 401 || error.status === 403) door(error);
  else rest(error);
}
