// The Votes tab: pending pairs, the vote log, and why a pair was chosen.
import { percent, signed } from "../../charts/primitives.js";
import { get } from "../../shared/api.js";
import { button, card, el, note, number, replace, table, truncated } from "../../shared/dom.js";
import { itemName } from "../../shared/item-names.js";
import { OUTCOMES } from "../forms.js";
import { LivePanel, redraw } from "../live-panel.js";
import { describe } from "../messages.js";

const PAGE_SIZE = 50;
const MAX_PENDING = 200;
const KINDS = { normal: "regular", gold: "gold pair", repeat: "repeated pair" };
const formatTime = (time) =>
  time ? new Date(time).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" }) : "unknown";

export function votesTab(app) {
  const explanation = el("div");
  const explain = async (pair) => {
    replace(explanation, el("p", { class: "muted" }, "Loading…"));
    try {
      replace(explanation, explanationOf(await get(`${app.base}/duels/${pair}/explanation?labels=true`)));
    } catch (error) {
      replace(explanation, note("warn", describe(error)));
    }
    explanationCard.hidden = false;
    explanationCard.focus();
    explanationCard.scrollIntoView({ block: "nearest" });
  };
  const explanationCard = card(
    "Why this pair?",
    "How the pair was chosen, and what the policy estimates now. It may have learned from votes since.",
    explanation,
  );
  explanationCard.classList.add("wide");
  explanationCard.tabIndex = -1;
  explanationCard.hidden = true;
  const pending = new LivePanel({
    title: "Pending pairs",
    wide: true,
    path: () => `${app.base}/queue`,
    draw: (data) => pendingPairs(data, explain),
    description:
      "Pairs that raters are looking at. After the time limit a pair goes to another rater; a late vote still counts.",
  });
  const log = voteLog(app, explain);
  return {
    node: el("div", { class: "grid" }, explanationCard, pending.node, log.node),
    refresh: () => Promise.all([pending.refresh(), log.refresh()]),
  };
}

const whyButton = (pair, explain) => button(`Why pair ${pair}?`, () => explain(pair), { class: "small" });

function pendingPairs(data, explain) {
  const fact = (term, value) => el("div", null, el("dt", null, term), el("dd", null, value));
  const rows = data.pending
    .slice(0, MAX_PENDING)
    .map((each) => [
      truncated(each.rater ?? "–"),
      itemName(each.first),
      itemName(each.second),
      formatTime(each.asked_at),
      formatTime(each.deadline),
      whyButton(each.duel, explain),
    ]);
  return el(
    "div",
    null,
    el(
      "dl",
      { class: "facts" },
      fact("pending", data.pending.length),
      fact("timed out, waiting for another rater", data.expired.length),
      fact("returned without a vote so far", data.returned),
      fact("late votes", data.late),
    ),
    rows.length
      ? table("Pending pairs", ["rater", "left", "right", "shown", "time limit", "explanation"], rows)
      : el("p", { class: "muted" }, "No pairs are pending."),
  );
}

function explanationOf(data) {
  const sentences = data.statement.split("\n").slice(0, 2);
  return el(
    "div",
    null,
    sentences.map((text) => el("p", { dir: "auto" }, text)),
    el(
      "p",
      null,
      `The left item wins with probability ${percent(data.win_probability)}. `,
      `The uncertainty about the pair (its width) is ${data.width.toFixed(2)}; `,
      `${percent(data.wider_pairs)} of the pairs among the items below are more uncertain.`,
    ),
    table(
      `Best of ${data.n_candidates} candidates by the estimates of the policy`,
      ["item", "utility", "uncertainty"],
      data.candidates.map((each) => [truncated(each.arm), number(signed(each.utility)), number(each.width.toFixed(3))]),
    ),
  );
}

function voteLog(app, explain) {
  const filters = { rater: "", arm: "", outcome: "", kind: "" };
  let cursors = []; // where each page after the first one starts
  const status = el("div", { role: "status" });
  const body = el("div");
  const load = async () => {
    try {
      const active = Object.fromEntries(Object.entries(filters).filter(([, value]) => value));
      const page = await get(
        `${app.base}/log${app.query({ ...active, limit: PAGE_SIZE, before: cursors.at(-1), everyone: "" })}`,
      );
      replace(status);
      redraw(body, draw(page));
    } catch (error) {
      replace(status, note("warn", describe(error)));
    }
  };
  const set = (name, value) => {
    filters[name] = value;
    cursors = [];
    load();
  };
  const textFilter = (name, label) =>
    el(
      "label",
      null,
      label,
      el("input", { type: "text", dir: "auto", onchange: (event) => set(name, event.target.value.trim()) }),
    );
  const choiceFilter = (name, label, options) =>
    el(
      "label",
      null,
      label,
      el(
        "select",
        { onchange: (event) => set(name, event.target.value) },
        el("option", { value: "" }, "all"),
        Object.entries(options).map(([value, text]) => el("option", { value }, text)),
      ),
    );
  const caption = ({ total }) => {
    const entries = `${total.toLocaleString("en")} ${total === 1 ? "entry" : "entries"}`;
    return Object.values(filters).some(Boolean) ? `Matches among ${entries}, newest first` : `${entries}, newest first`;
  };
  const draw = (page) =>
    el(
      "div",
      null,
      table(
        caption(page),
        ["entry", "rater", "left", "right", "vote", "time", "seconds", "notes", "explanation"],
        page.votes.map((vote) => [
          vote.sequence,
          truncated(vote.rater ?? "–"),
          itemName(vote.first),
          itemName(vote.second),
          vote.outcome ? OUTCOMES[vote.outcome] + (vote.criterion ? ` (${vote.criterion})` : "") : "undone",
          formatTime(vote.voted_at),
          number(vote.response_seconds === null ? "–" : vote.response_seconds.toFixed(1)),
          notes(vote),
          whyButton(vote.duel_id, explain),
        ]),
      ),
      el(
        "p",
        { class: "row" },
        cursors.length > 0 &&
          button("Newer", () => {
            cursors.pop();
            load();
          }),
        page.next !== null &&
          button("Older", () => {
            cursors.push(page.next);
            load();
          }),
      ),
    );
  const node = card(
    "Vote log",
    "Every vote, in the order it was saved. Changed, undone and excluded votes stay in the log and are marked.",
    el(
      "form",
      { class: "row", onsubmit: (event) => event.preventDefault() },
      textFilter("rater", "Rater"),
      textFilter("arm", "Item"),
      choiceFilter("outcome", "Vote", OUTCOMES),
      choiceFilter("kind", "Kind of pair", KINDS),
    ),
    status,
    body,
  );
  node.classList.add("wide");
  return { node, refresh: () => (cursors.length ? null : load()) };
}

function notes(vote) {
  const tag = (text) => [el("span", { class: "tag" }, text), " "];
  return el(
    "span",
    null,
    vote.kind !== "normal" && tag(KINDS[vote.kind] ?? vote.kind),
    vote.late && tag("late"),
    vote.revises !== null && tag(`changes entry ${vote.revises}`),
    vote.chosen_by === "random" && tag("random pair"),
    vote.excluded && tag("excluded"),
    vote.reason && el("q", { dir: "auto" }, vote.reason),
  );
}
