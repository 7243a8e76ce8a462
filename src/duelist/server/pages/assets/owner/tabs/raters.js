// The Raters tab: pace, agreement, side preference and consistency of each rater, and what an owner can do about them.
import { percent, picture, scale } from "../../charts/primitives.js";
import { post } from "../../shared/api.js";
import { speak, button, confirm, el, note, number, promptText, svg, table, truncated } from "../../shared/dom.js";
import { LivePanel } from "../live-panel.js";
import { describe } from "../messages.js";
import { panelGrid } from "./results.js";

const MAX_PARALLEL_WORK = 4; // more hours of work than this in one hour mean that votes were not given one by one

export function ratersTab(app) {
  const update = async (path, body, done) => {
    try {
      await post(`${app.base}/raters/${path}`, body);
      speak(done);
      await panel.refresh();
    } catch (error) {
      speak(describe(error));
      panel.body.prepend(note("bad", describe(error)));
    }
  };
  const panel = new LivePanel({
    title: "Raters",
    wide: true,
    path: () => `${app.base}/raters${app.query()}`,
    draw: (data) => ratersTable(data, app.isAdmin ? update : null),
    description:
      "How reliable each rater is. Agreement is with other raters on the same pairs; consistency is the share of repeated pairs with the same vote; gold is the share of gold pairs with the correct vote. " +
      "Reliability compares the rater with the crowd: 1 is as reliable, 0 is chance. A rater is flagged if they very probably answer at random, prefer a side whatever the items, or vote against the others: at most 5% of flags are expected to be wrong. " +
      "Votes of flagged raters hardly count. A low reliability alone is no reason for a flag.",
  });
  return panelGrid([panel]);
}

function ratersTable(data, update) {
  const others = data.others ?? [];
  if (!data.rows.length && !others.length)
    return el("p", { class: "muted" }, "No votes yet. Create links for your raters in the “Access and data” tab.");
  const share = (value) => number(value === null ? "–" : percent(value));
  const headers = [
    "rater",
    "votes",
    "time/vote",
    "votes/hour",
    "left side",
    "agreement",
    "consistency",
    "gold",
    "reliability",
    "notes",
    update && "actions",
  ].filter(Boolean);
  const rows = data.rows.map((row) =>
    [
      truncated(row.rater, { tabindex: 0 }),
      number(String(row.votes)),
      number(row.median_seconds === null ? "–" : `${row.median_seconds.toFixed(1)} s`),
      pace(row),
      leftShare(row),
      share(row.agreement_others),
      number(row.repeats ? `${percent(row.repeat_agreement)} of ${row.repeats}` : "–"),
      number(row.gold ? `${percent(row.gold_right)} of ${row.gold}` : "–"),
      reliability(row),
      notes(row),
      update && actions(row, update),
    ].filter((cell) => cell !== null),
  );
  // Raters without votes, known from a block or a note, have no statistics.
  const withoutVotes = others.map((each) => [
    truncated(each.name, { tabindex: 0 }),
    number("0"),
    ...Array.from({ length: 7 }, () => number("–")),
    notes({ ...each, reasons: [] }),
    ...(update ? [actions({ ...each, rater: each.name }, update)] : []),
  ]);
  const count = rows.length + withoutVotes.length;
  return el(
    "div",
    null,
    table(`${count} ${count === 1 ? "rater" : "raters"}, most votes first`, headers, [...rows, ...withoutVotes], {
      label: "Raters",
    }),
    data.alpha !== null &&
      el(
        "p",
        null,
        `Krippendorff's alpha over all raters: ${data.alpha.toFixed(2)} (1 is full agreement, 0 is chance level).`,
      ),
  );
}

/** Votes per hour; not shown if votes arrived faster than they were given, as from a file or a program. */
function pace({ votes_per_hour: votesPerHour, median_seconds: seconds }) {
  const isPlausible =
    votesPerHour !== null && (seconds === null || (votesPerHour * seconds) / 3600 < MAX_PARALLEL_WORK);
  return number(isPlausible ? votesPerHour.toFixed(0) : "–");
}

/** Log-odds relative to the crowd's, with their interval. */
function reliability({ reliability: factor, reliability_low: low, reliability_high: high }) {
  if (factor === null) return number("–");
  return number([factor.toFixed(2), el("br"), el("small", null, `${low.toFixed(2)} to ${high.toFixed(2)}`)]);
}

/** How often the left side won, with its interval, around one half. */
function leftShare(row) {
  if (row.first_share === null) return number("–");
  const x = scale([0, 1], [4, 68]);
  return el(
    "div",
    { class: "side" },
    picture(
      72,
      18,
      `${percent(row.first_share)}, between ${percent(row.first_low)} and ${percent(row.first_high)}`,
      svg("line", { class: "zero", x1: x(0.5), x2: x(0.5), y1: 0, y2: 18 }),
      svg("line", { class: "interval", x1: x(row.first_low), x2: x(row.first_high), y1: 9, y2: 9 }),
      svg("circle", { class: "point", cx: x(row.first_share), cy: 9, r: 4 }),
    ),
    number(percent(row.first_share)),
  );
}

const RULES = { gold: "failed gold pairs", fast: "too fast", side: "one side only" };
const ENDINGS = { completed: "finished", screened_out: "screened out", timed_out: "timed out", full: "over quota" };

const notes = (row) =>
  el(
    "span",
    null,
    row.blocked && el("span", { class: "tag warn" }, "blocked"),
    " ",
    row.excluded && el("span", { class: "tag warn" }, "votes excluded"),
    " ",
    row.excluded_by && el("span", { class: "tag warn" }, `by rule: ${RULES[row.excluded_by]}`),
    " ",
    row.erased && el("span", { class: "tag" }, "erased"),
    " ",
    row.ending && el("span", { class: "tag" }, ENDINGS[row.ending]),
    " ",
    row.reasons.map((reason) => el("span", { class: "tag warn" }, reason)),
    Object.entries(row.attributes ?? {}).map(([name, value]) => [
      " ",
      el("q", { dir: "auto" }, name === "note" ? String(value) : `${name}: ${String(value)}`),
    ]),
  );

function actions(row, update) {
  const { rater } = row;
  const erase = async () => {
    const confirmed = await confirm(
      `Erase ${rater}?`,
      "A pseudonym replaces the rater's name, and their reasons, notes and attributes are deleted. Their votes are kept. This cannot be undone.",
      "Erase",
      rater,
    );
    if (confirmed) update("erase", { rater, confirm: rater }, `${rater} was erased.`);
  };
  const editNote = async () => {
    const text = await promptText(
      `Note about ${rater}`,
      "Visible to owners of the study, not to raters.",
      row.attributes?.note ?? "",
    );
    if (text !== null) update("describe", { rater, attributes: { note: text || null } }, `Note about ${rater} saved.`);
  };
  return el(
    "span",
    { class: "actions" },
    row.blocked || row.excluded
      ? button("Reinstate", () => update("reinstate", { rater }, `${rater} was reinstated.`), {
          class: "small",
          title: "Let this rater vote again, and count their votes again.",
        })
      : [
          button("Block", () => update("block", { rater }, `${rater} was blocked.`), {
            class: "small",
            title: "Show this rater no more pairs. Their votes still count. You can reinstate them.",
          }),
          button(
            "Exclude votes",
            () => update("block", { rater, exclude_votes: true }, `${rater} was blocked, and their votes were excluded.`),
            {
              class: "small",
              title: "Block this rater and exclude all their votes from the results. You can reinstate them.",
            },
          ),
        ],
    button("Note…", editNote, { class: "small", title: "Write a note about this rater." }),
    !row.erased &&
      button("Erase…", erase, { class: "small", title: "Remove this rater's personal data. This cannot be undone." }),
  );
}
