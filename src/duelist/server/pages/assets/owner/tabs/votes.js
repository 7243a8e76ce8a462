// Pairs that are out, the log of votes, and why a pair was asked.
import { get, sentenceOf } from "../../shared/api.js";
import { percent, signed } from "../../charts/primitives.js";
import { button, el, named, number, replace, table } from "../../shared/dom.js";
import { Panel, redraw } from "../live-panel.js";

const PAGE = 50;
const OUTCOMES = { first: "left", second: "right", tie: "tie", both_bad: "both bad", skip: "skip" };
const when = (time) =>
  time ? new Date(time).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" }) : "not known";

export function votesPart(here) {
  const why = el("div");
  const explain = async (duel) => {
    replace(why, el("p", { class: "muted" }, "Reading…"));
    try {
      replace(why, explained(await get(`${here.base}/duels/${duel}/why`)));
    } catch (error) {
      replace(why, el("p", { class: "note warn" }, sentenceOf(error)));
    }
    whyCard.hidden = false;
    whyCard.focus();
    whyCard.scrollIntoView({ block: "nearest" });
  };
  const whyCard = el(
    "section",
    { class: "card wide", "aria-label": "Why this pair", tabindex: -1, hidden: true },
    el("h2", null, "Why this pair?"),
    el("p", { class: "about" }, "Who chose it, and what the policy thinks of it now; it may have learned since."),
    why,
  );
  const queue = new Panel({
    title: "Pairs that are out",
    wide: true,
    path: () => `${here.base}/queue`,
    draw: (data) => queued(data, explain),
    about:
      "A pair that is asked is lent to a rater for a while. If the time runs out it waits for somebody else; an answer that comes late still counts.",
  });
  const log = logPanel(here, explain);
  return {
    node: el("div", { class: "grid" }, whyCard, queue.node, log.node),
    refresh: () => Promise.all([queue.refresh(), log.refresh()]),
  };
}

function queued(data, explain) {
  const fact = (term, value) => el("div", null, el("dt", null, term), el("dd", null, value));
  const rows = data.out
    .slice(0, 200)
    .map((each) => [
      named(each.rater ?? "–"),
      named(each.first),
      named(each.second),
      when(each.asked_at),
      when(each.deadline),
      button(`Why pair ${each.duel}?`, () => explain(each.duel), { class: "small" }),
    ]);
  return el(
    "div",
    null,
    el(
      "dl",
      { class: "facts" },
      fact("out", data.out.length),
      fact("time is over, next to be asked", data.over.length),
      fact("came back unanswered so far", data.returned),
      fact("late votes", data.late),
    ),
    rows.length
      ? table("Pairs in people's hands", ["rater", "left", "right", "asked", "until", "why"], rows)
      : el("p", { class: "muted" }, "Nobody has a pair at the moment."),
  );
}

function explained(data) {
  const sentences = data.statement.split("\n").slice(0, 2);
  return el(
    "div",
    null,
    sentences.map((text) => el("p", { dir: "auto" }, text)),
    el(
      "p",
      null,
      `The left one wins with chance ${percent(data.chance_first)}. `,
      `Their width, which says how little is known about the pair, is ${data.width.toFixed(2)}; ${percent(data.wider_pairs)} of the pairs among those below are wider.`,
    ),
    table(
      `The best of ${data.candidates} candidates, as the policy sees them`,
      ["arm", "utility", "width"],
      data.considered.map((each) => [named(each.arm), number(signed(each.utility)), number(each.width.toFixed(3))]),
    ),
  );
}

function logPanel(here, explain) {
  const filters = { rater: "", arm: "", outcome: "", kind: "" };
  let before = [];
  const said = el("div", { role: "status" });
  const body = el("div");
  const read = async () => {
    try {
      const more = Object.fromEntries(Object.entries(filters).filter(([, value]) => value));
      const page = await get(
        `${here.base}/log${here.query({ ...more, limit: PAGE, before: before.at(-1), everyone: "" })}`,
      );
      replace(said);
      redraw(body, drawn(page));
    } catch (error) {
      replace(said, el("p", { class: "note warn" }, sentenceOf(error)));
    }
  };
  const field = (name, label, input) =>
    el(
      "label",
      null,
      label,
      input ?? el("input", { type: "text", dir: "auto", onchange: (event) => set(name, event.target.value.trim()) }),
    );
  const choice = (name, label, options) =>
    field(
      name,
      label,
      el(
        "select",
        { onchange: (event) => set(name, event.target.value) },
        el("option", { value: "" }, "any"),
        Object.entries(options).map(([value, text]) => el("option", { value }, text)),
      ),
    );
  const set = (name, value) => {
    filters[name] = value;
    before = [];
    read();
  };
  const filtered = () => Object.values(filters).some(Boolean);
  const rowsIn = (page) => `${page.total.toLocaleString("en")} ${page.total === 1 ? "row" : "rows"}`;
  const drawn = (page) =>
    el(
      "div",
      null,
      table(
        filtered() ? `Rows that fit, newest first, of ${rowsIn(page)} in all` : `${rowsIn(page)}, newest first`,
        ["row", "rater", "left", "right", "answer", "when", "seconds", "remarks", "why"],
        page.votes.map((vote) => [
          vote.sequence,
          named(vote.rater ?? "–"),
          named(vote.first),
          named(vote.second),
          vote.outcome ? OUTCOMES[vote.outcome] + (vote.criterion ? ` (${vote.criterion})` : "") : "undone",
          when(vote.voted_at),
          number(vote.response_seconds === null ? "–" : vote.response_seconds.toFixed(1)),
          remarks(vote),
          button(`Why pair ${vote.duel}?`, () => explain(vote.duel), { class: "small" }),
        ]),
      ),
      el(
        "p",
        { class: "row" },
        before.length > 0 &&
          button("Newer", () => {
            before.pop();
            read();
          }),
        page.next !== null &&
          button("Older", () => {
            before.push(page.next);
            read();
          }),
      ),
    );
  const node = el(
    "section",
    { class: "card wide", "aria-label": "Log of votes" },
    el("h2", null, "Log"),
    el(
      "p",
      { class: "about" },
      "Every row that was ever written. A vote that was changed or taken back stays, with a row that says so.",
    ),
    el(
      "form",
      { class: "row", onsubmit: (event) => event.preventDefault() },
      field("rater", "Rater"),
      field("arm", "Arm"),
      choice("outcome", "Answer", OUTCOMES),
      choice("kind", "Kind", { normal: "normal", gold: "gold pair", repeat: "repeated" }),
    ),
    said,
    body,
  );
  return { node, refresh: () => (before.length ? null : read()) };
}

function remarks(vote) {
  const tag = (text) => [el("span", { class: "tag" }, text), " "];
  return el(
    "span",
    null,
    vote.kind !== "normal" && tag(vote.kind),
    vote.late && tag("late"),
    vote.revises !== null && tag(`changes row ${vote.revises}`),
    vote.chosen_by === "random" && tag("drawn by chance"),
    vote.excluded && tag("left out"),
    vote.reason && el("q", { dir: "auto" }, vote.reason),
  );
}
