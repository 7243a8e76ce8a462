// The rater's page. It shows one pair and loads the next in advance. A vote is stored in the browser first, then shown as given, then sent.
import {
  ApiError,
  get,
  getSession,
  post,
  signInFromLink,
  studyIdFromAddress,
} from "../shared/api.js";
import { preloadImages, renderBlocks } from "../shared/content.js";
import { speak, button, el, find, note, replace } from "../shared/dom.js";
import { say } from "../shared/sentences.js";
import { breakScreen, lacksReason, reasonChips, thanksOf } from "./flow/between.js";
import { chooseByClick } from "./choose.js";
import { applyAppearance, takeSteps } from "./flow/intro.js";
import { openLightbox } from "./lightbox.js";
import { promptForm } from "./live.js";
import { syncedPlayer } from "./media-sync.js";
import { recordArrival, showDeparture, showEntry } from "./arrival.js";
import { describeForRater, isFinal, screenFor } from "./messages.js";
import { isPermanent, OfflineQueue } from "./offline-queue.js";
import { onLayout, sideName } from "./sides.js";
import { actionFor, showGuidelines, showShortcuts } from "./shortcuts.js";
import { VoteBar } from "./vote-bar.js";

const study = studyIdFromAddress();
const DOUBLE_CLICK = 350; // milliseconds: a new pair ignores the second click of a double click
const HISTORY_LENGTH = 5;
const POLL_INTERVAL = 15_000;

const state = {
  profile: null, // what the server says about this rater and the study
  current: null, // the pair on the screen
  votedDuel: null, // the pair of the last vote
  upcoming: [], // pairs that are loaded already
  shownAt: 0,
  newVotes: 0, // votes given on this page, less those undone; the profile counts the earlier ones
  player: null,
  lastError: null,
  loading: null,
  isOnBreak: false,
};
let voteBar;
let queue;
let updateChips = () => {};

// -- browser storage ----------------------------------------------------------------------------------------------------

const storageKey = (name) => `duelist-${name}-${study}-${state.profile?.rater ?? ""}`;
const load = (name, fallback) => {
  try {
    return JSON.parse(localStorage.getItem(storageKey(name))) ?? fallback;
  } catch {
    return fallback;
  }
};
const store = (name, value) => {
  try {
    localStorage.setItem(storageKey(name), JSON.stringify(value));
  } catch {
    /* Storage is full or disabled: undo reaches less far back, but votes are still sent. */
  }
};

// -- pairs --------------------------------------------------------------------------------------------------------------

const idsOnPage = () => [state.current, ...state.upcoming].filter(Boolean).map((pair) => pair.id);

/** Load the pair to show and the next one. Votes are sent first, so that the server does not return their pairs again. */
function loadPairs() {
  state.loading ??= requestPairs().finally(() => {
    state.loading = null;
  });
  return state.loading;
}

async function requestPairs() {
  if (state.profile.live) return askForPrompt();
  while ((!state.current && !state.isOnBreak) || !state.upcoming.length) {
    if (!(await queue.flush())) return;
    const inProgress = idsOnPage();
    try {
      const pair = await post(`/studies/${study}/ask`, inProgress.length ? { in_progress: inProgress } : {});
      if (idsOnPage().includes(pair.id)) return; // the rater went back to it in the meantime
      state.lastError = null;
      if (state.current || state.isOnBreak) state.upcoming.push(pair);
      else show(pair);
      for (const side of [pair.first, pair.second]) preloadImages(side.content);
    } catch (error) {
      state.lastError = error;
      if (!state.current && !state.isOnBreak) await showNoMorePairs(error);
      return;
    }
  }
}

/** Where systems answer live, the rater writes the next prompt. */
async function askForPrompt() {
  if (state.current || !(await queue.flush())) return;
  try {
    showMessage(await promptForm(study, state.votedDuel, { show, describe: describeForRater }));
    find("#vote-bar").hidden = true;
  } catch (error) {
    showNoPair(error);
  }
}

function show(pair) {
  state.current = pair;
  state.isOnBreak = false;
  state.shownAt = performance.now();
  find("#message").hidden = true;
  find("#rating").hidden = false;
  find("#vote-bar").hidden = false;
  find("#prompt").hidden = !pair.prompt;
  replace(find("#prompt-content"), pair.prompt && renderBlocks(pair.prompt));
  const sides = [pair.first, pair.second].map((side) => renderBlocks(side.content));
  replace(find("#left"), sides[0]);
  replace(find("#right"), sides[1]);
  state.player = syncedPlayer(...sides.map((side) => side.querySelector("video, audio")));
  replace(find("#media"), state.player);
  find("#reason").value = "";
  updateChips();
  voteBar.reset();
  scrollTo({ top: 0 });
  speak(say("pair.new"));
}

// -- votes --------------------------------------------------------------------------------------------------------------

/** A skipped pair does not count towards the number that was asked of the rater. */
const countOfVote = (outcomes) => (Object.values(outcomes)[0] === "skip" ? 0 : 1);
/** Time with the guidelines or the shortcuts open is not response time. */
const leaveOut = (milliseconds) => {
  state.shownAt = Math.min(performance.now(), state.shownAt + milliseconds);
};

const isReady = () => state.current !== null && performance.now() - state.shownAt >= DOUBLE_CLICK;

function vote(outcomes) {
  const { flow, ask_reason: asksReason } = state.profile;
  if (lacksReason(asksReason && flow.reason_required, outcomes)) return voteBar.reset();
  const pair = state.current;
  const isSingle = Object.keys(outcomes).length === 1 && "" in outcomes;
  const reason = find("#reason").value.trim();
  const body = {
    duel: pair.id,
    ...(isSingle ? { outcome: outcomes[""] } : { outcomes }),
    ...(reason ? { reason } : {}),
    response_seconds: Math.round(performance.now() - state.shownAt) / 1000,
  };
  store("history", [...load("history", []), { pair, outcomes, reason }].slice(-HISTORY_LENGTH));
  voteBar.showLast(outcomes);
  state.current = null;
  state.votedDuel = pair.id;
  state.newVotes += countOfVote(outcomes);
  queue.add({ kind: "vote", duel: pair.id, body });
  const done = state.profile.votes + state.newVotes;
  if (flow.break_every && done % flow.break_every === 0 && countOfVote(outcomes)) showBreak(done);
  else showNext();
  updateStatus();
  return null;
}

/** Pairs are loaded before the break, so that their time does not run during it. */
function showBreak(done) {
  state.isOnBreak = true;
  showMessage(
    breakScreen(done, () => {
      state.isOnBreak = false;
      find("#vote-bar").hidden = false;
      showNext();
    }),
  );
  find("#vote-bar").hidden = true;
}

function showNext() {
  const pair = state.upcoming.shift();
  if (pair) show(pair);
  else showLoading();
  loadPairs();
}

async function undo() {
  if (state.profile.live) return speak(say("live.final"));
  const history = load("history", []);
  const last = history.at(-1);
  if (!last) return undoOnServer();
  store("history", history.slice(0, -1));
  if (state.current) state.upcoming.unshift(state.current);
  if (!queue.cancel(last.pair.id))
    queue.add({ kind: "undo", duel: last.pair.id, criteria: Object.keys(last.outcomes) });
  state.newVotes -= countOfVote(last.outcomes);
  show(last.pair);
  voteBar.showLast(null);
  voteBar.restore(last.outcomes);
  find("#reason").value = last.reason ?? "";
  updateChips();
  updateStatus();
  speak(say("vote.undone"));
}

/** Undo a vote that was given on another day or device; the server returns its pair. */
async function undoOnServer() {
  const last = state.profile.recent?.[0];
  if (!last) return speak(say("vote.nothing_to_undo"));
  const criteria = state.profile.criteria.length ? state.profile.criteria : [""];
  try {
    await send({ kind: "undo", duel: last.duel_id, criteria });
    const pair = await post(`/studies/${study}/ask`, { in_progress: idsOnPage().slice(0, 3) });
    if (state.current) state.upcoming.unshift(state.current);
    state.newVotes -= countOfVote({ "": last.outcome });
    state.profile.recent = state.profile.recent.filter((each) => each.duel_id !== last.duel_id);
    voteBar.showLast(null);
    show(pair);
    updateStatus();
  } catch (error) {
    showNotice(describeForRater(error));
  }
  return null;
}

async function send(entry) {
  if (entry.kind === "vote") return post(`/studies/${study}/votes`, entry.body);
  for (const criterion of entry.criteria) {
    await post(`/studies/${study}/undo`, { duel: entry.duel, ...(criterion ? { criterion } : {}) });
  }
  return null;
}

/** After each attempt of the queue: report a rejected vote, update the status, and go on. */
function onQueueProgress(error) {
  if (error && isPermanent(error)) {
    state.newVotes -= 1;
    showNotice(say("status.rejected", { error: describeForRater(error) }));
  }
  updateStatus(error);
  if (!error && !state.current) loadPairs();
}

// -- status and messages ------------------------------------------------------------------------------------------------

function updateStatus(error = null) {
  const count = queue.entries.filter((entry) => entry.kind === "vote").length;
  const isStuck = error !== null && count > 0;
  const status = find("#save-status");
  if (error?.status === 401) status.textContent = say("status.link_expired", { count });
  else if (isStuck) status.textContent = say("status.stored", { count, error: describeForRater(error) });
  else if (count) status.textContent = say("status.saving");
  else status.textContent = state.newVotes > 0 ? say("status.saved") : "";
  status.className = isStuck ? "warn" : "muted";
  voteBar.allowUndo(load("history", []).length > 0 || state.profile.recent?.length > 0);
  find("#hint").hidden = state.profile.votes + state.newVotes > 0;
  const limit = state.profile.max_votes;
  const done = state.profile.votes + state.newVotes;
  find("#progress").textContent = limit
    ? say("progress.limited", { done, count: limit })
    : say("progress.open", { count: done });
}

function showNotice(text) {
  const close = button(say("button.close"), () => showNotice(null), { class: "small" });
  replace(find("#notice"), text && note("warn", text, " ", close));
}

function showMessage(...content) {
  find("#rating").hidden = true;
  replace(find("#message"), ...content);
  find("#message").hidden = false;
}

/** Show a title and a text instead of a pair. */
function showText([title, text], ...more) {
  showMessage(el("h2", null, title), el("p", null, text), ...more);
  speak(`${title}. ${text}`);
}

function showLoading() {
  showMessage(el("p", null, say("pair.loading")));
  find("#vote-bar").hidden = !queue.entries.length;
}

/** After the last pair, the server says how participation ended. */
async function showNoMorePairs(error) {
  if (isFinal(error)) {
    const { departure } = await get(`/studies/${study}/me`).catch(() => ({ departure: null }));
    state.profile.departure = departure;
    if (showEnd()) return;
  }
  showNoPair(error);
}

function showNoPair(error) {
  const retry = button(say("button.retry"), () => (queue ? loadPairs() : location.reload()), { class: "primary" });
  showText(screenFor(error), isFinal(error) && state.profile && thanksOf(state.profile.flow), el("p", null, retry));
  find("#vote-bar").hidden = !voteBar; // Undo stays available
  voteBar?.hideButtons();
}

// -- keyboard and mouse -------------------------------------------------------------------------------------------------

const ACTIONS = {
  ArrowLeft: () => voteBar.choose("first"),
  ArrowRight: () => voteBar.choose("second"),
  ArrowDown: () => voteBar.choose("tie"),
  b: () => voteBar.choose("both_bad"),
  s: () => voteBar.choose("skip"),
  u: undo,
  "?": () => showShortcuts(voteBar.offered, state.profile.ask_reason, leaveOut),
  g: () => showGuidelines(state.profile.guidelines, leaveOut),
  r: () => find("#reason").focus(),
  p: () => state.player?.togglePlay(),
  h: () => state.player?.toggleSound(),
  j: () => state.player?.seek(-5),
  l: () => state.player?.seek(5),
};

chooseByClick([find(".side.first"), find(".side.second")], (outcome) => voteBar?.choose(outcome));

function onKey(event) {
  if (event.key === "Escape" && event.target === find("#reason")) find("#pair").focus();
  const action = actionFor(event, ACTIONS);
  if (!action || (!state.current && !"u?g".includes(event.key))) return;
  event.preventDefault();
  action();
}

function onClick(event) {
  const image = event.target.closest("[data-zoom]");
  if (!image) return;
  const images = ["#left", "#right"].map((side) => [...find(side).querySelectorAll("[data-zoom]")]);
  const side = images.findIndex((each) => each.includes(image));
  if (side < 0) return openLightbox([[image.dataset.zoom], []], { side: 0, index: 0 });
  openLightbox(
    images.map((each) => each.map((one) => one.dataset.zoom)),
    { side, index: images[side].indexOf(image) },
  );
}

// -- start --------------------------------------------------------------------------------------------------------------

async function signIn() {
  await signInFromLink();
  const session = await getSession(study);
  if (session.scope !== "rater") throw new ApiError(401, { code: "owner" });
}

/** Let visitors without a valid link enter, if the study is open to everyone. */
async function showWelcome(error) {
  try {
    await showEntry(study, error, showText, begin);
  } catch (failure) {
    showNoPair(failure);
  }
}

async function begin() {
  find("#message").hidden = true;
  await recordArrival(study);
  await start();
}

/** Show how this rater's participation ended, if it has. */
function showEnd() {
  const { departure } = state.profile;
  if (!departure) return false;
  const thanks = departure.kind === "completed" && thanksOf(state.profile.flow);
  showDeparture(departure, (title, ...more) => showText(title, thanks, ...more));
  find("#vote-bar").hidden = true;
  return true;
}

/** What comes before the first pair; false if it ended the participation. */
async function passIntro() {
  const paths = { consent: "consent", questions: "answers", practice: "practised" };
  const send = (name, body) =>
    paths[name] === undefined
      ? null
      : post(`/studies/${study}/${paths[name]}`, body).catch((error) => {
          throw Object.assign(error, { forRater: describeForRater(error) });
        });
  const hasEnded = async () => {
    state.profile.departure = (await get(`/studies/${study}/me`)).departure;
    return state.profile.departure !== null;
  };
  const passed = await takeSteps({ ...state.profile, hasEnded }, load("welcomed", false), { show: showMessage, send });
  if (passed) store("welcomed", true);
  return passed;
}

async function start() {
  state.profile = await get(`/studies/${study}/me`);
  const { study_name, question, guidelines, criteria, answers, flow } = state.profile;
  const name = flow.appearance.name ?? study_name;
  document.title = `${name} · duelist`;
  find("#title").textContent = name;
  find("#question").textContent = question ?? say("question.default");
  applyAppearance(flow.appearance, find("header.top"), document.documentElement);
  find("#reason-label").hidden = !state.profile.ask_reason;
  find("#reason-text").textContent = say(flow.reason_required ? "reason.label_required" : "reason.label");
  if (state.profile.ask_reason) updateChips = reasonChips(flow.reasons);
  find("#show-guidelines").hidden = !guidelines;
  voteBar = new VoteBar(find("#vote-bar"), criteria, answers, { vote, undo, isReady });
  queue = new OfflineQueue(storageKey("queue"), send, onQueueProgress);
  const countOfEntry = ({ kind, body }) =>
    kind === "vote" ? countOfVote(body.outcomes ?? { "": body.outcome }) : -1;
  state.newVotes = queue.entries.reduce((sum, entry) => sum + countOfEntry(entry), 0);
  updateStatus();
  if (showEnd()) return;
  if (!(await passIntro())) {
    showEnd();
    return;
  }
  if (guidelines && !load("guidelines-read", false)) {
    store("guidelines-read", true);
    showGuidelines(guidelines, leaveOut);
  }
  await loadPairs();
  setInterval(() => {
    const isDone = state.lastError !== null && isFinal(state.lastError);
    if (!state.current && !document.hidden && !isDone) loadPairs();
  }, POLL_INTERVAL);
}

onLayout(() => {
  find("#left-heading").textContent = sideName(0);
  find("#right-heading").textContent = sideName(1);
});
find("#reason-keys").textContent = say("reason.keys", { write: "r", done: "Esc" });
addEventListener("keydown", onKey);
addEventListener("hashchange", () => location.reload()); // another link was opened in this tab
addEventListener("click", onClick);
addEventListener("online", () => queue && loadPairs());
find("#show-shortcuts").addEventListener("click", () =>
  showShortcuts(voteBar?.offered ?? [], state.profile?.ask_reason, leaveOut),
);
find("#show-guidelines").addEventListener("click", () => showGuidelines(state.profile.guidelines, leaveOut));
try {
  await signIn();
  await begin();
} catch (error) {
  if (error.status === 401 || error.status === 403 || error.isA("name_taken")) await showWelcome(error);
  else showNoPair(error);
}
