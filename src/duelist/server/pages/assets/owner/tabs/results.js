// The Results, Pairs and Diagnostics tabs: the stopping decision and the leaderboard, who won against whom, and how reliable the model is.
import { calibrationPlot } from "../../charts/calibration.js";
import { intervalMark, intervalOverview, probabilityMark, rankMark, utilityRange } from "../../charts/intervals.js";
import { percent, signed } from "../../charts/primitives.js";
import { probabilityLines } from "../../charts/probability-of-best.js";
import { regretBars } from "../../charts/regret.js";
import { winMatrix } from "../../charts/win-matrix.js";
import { button, card, el, headerRow, note, scrollable } from "../../shared/dom.js";
import { itemLabel, itemName } from "../../shared/item-names.js";
import { goalLabel } from "../forms.js";
import { LivePanel } from "../live-panel.js";

const FIRST_ROWS = 25;
const MORE_ROWS = 100;
const FILE_COLUMNS = ["utility", "low", "high", "best_rank", "worst_rank", "chance_best", "acceptable", "votes", "wins", "ties", "both_bad"];
const OVERVIEW_FROM = 30; // a chart of all items is shown above longer tables

export function panelGrid(panels) {
  panels = panels.filter(Boolean);
  const node = el(
    "div",
    { class: "grid" },
    panels.map((panel) => panel.node),
  );
  // One after the other, from the top: the server computes one result at a time, and no panel should wait for the slowest.
  const refresh = async () => {
    for (const panel of panels) await panel.refresh();
  };
  return { node, refresh };
}

// -- results ------------------------------------------------------------------------------------------------------------

export function resultsTab(app) {
  let rows = FIRST_ROWS;
  const covariates = () => (controls.value ? { covariates: controls.value.split(" ") } : {});
  const controls = el(
    "select",
    { onchange: () => grid.refresh() },
    [
      ["", "nothing"],
      ["side", "side"],
      ["side length", "side and length"],
      ["side length markdown", "side, length and Markdown"],
    ].map(([value, text]) => el("option", { value }, text)),
  );
  const showRows = (count, data) => {
    rows = count;
    ranking.body.replaceChildren(leaderboard(data));
  };
  const leaderboard = (data) => {
    const shown = data.standings.slice(0, rows);
    const hidden = data.standings.length - shown.length;
    if (!data.standings.length) return el("p", { class: "muted" }, "No items yet. Add some in the Items tab.");
    return el(
      "div",
      null,
      data.note && note("warn", data.note),
      data.covariates.length > 0 && covariateEffects(data.covariates),
      data.acceptable_level !== null && acceptableLevel(data),
      data.standings.length > OVERVIEW_FROM && intervalOverview(data.standings),
      standingsTable(shown, data, utilityRange(data.standings)),
      hidden > 0 &&
        el(
          "p",
          null,
          button(`Show ${Math.min(hidden, MORE_ROWS)} more of ${hidden}`, () => showRows(rows + MORE_ROWS, data)),
          " ",
          button("Show all", () => showRows(Infinity, data)),
        ),
    );
  };
  const ranking = new LivePanel({
    title: "Leaderboard",
    wide: true,
    path: () => `${app.base}/leaderboard${app.query(covariates())}`,
    draw: leaderboard,
    rows: ({ standings }) => [
      ["rank", "item", "text", ...FILE_COLUMNS],
      ...standings.map((each, k) => [k + 1, each.arm, itemLabel(each.arm), ...FILE_COLUMNS.map((name) => each[name])]),
    ],
    description:
      "From best to worst. Utility is relative to the average: a lead of 1 means winning 73% of the votes that are not ties. Intervals hold with 95% probability, and possible ranks are those that the votes do not rule out. " +
      "Gold pairs, repeated pairs, skipped or undone votes, and excluded votes do not count.",
  });
  ranking.node.insertBefore(el("label", { class: "inline" }, "Exclude the influence of ", controls), ranking.body);
  let tolerance = {};
  const decision = new LivePanel({
    title: "Can I stop?",
    wide: true,
    description:
      "The stopping decision for the goal of this study. Its error rate is 5%, even if you check after every vote. It is therefore stricter than the probability of being the best, which is for a single look: one item may show 100% while others are not ruled out yet.",
    path: () => `${app.base}/can-stop${app.query({ labels: true, ...tolerance, ...covariates() })}`,
    draw: (data) => stoppingDecision(data, app),
    dependencies: () => [app.study.votes, app.study.arms, app.study.pending],
    notEnoughData: "Add items in the Items tab to start.",
  });
  const setTolerance = ({ target }) => {
    const points = target.checkValidity() ? Number(target.value) : 0;
    tolerance = points ? { tolerance: points / 100, unit: "chance" } : {};
    decision.refresh();
  };
  if (app.study.settings.goal !== "learn") decision.body.before(toleranceField(setTolerance));
  const grid = panelGrid([
    !app.study.votes && nextSteps(app),
    decision,
    ranking,
    app.categories.length > 1 && byCategory(app, covariates),
    new LivePanel({
      title: "Probability of being the best, over time",
      wide: true,
      description: "How the probability of the leaders changed with the number of votes.",
      path: () => `${app.base}/history${app.query({ top: 8 })}`,
      draw: probabilityLines,
    }),
  ]);
  return grid;
}

/** What to do in a study without votes. */
function nextSteps(app) {
  const steps = [
    [app.study.arms > 1, "#items", "Add items", "at least two, from a file or one by one"],
    [false, "#settings", "Look at the rater page's texts", "question, guidelines, language, and the votes that are offered"],
    [app.study.settings.open_registration, "#access", "Invite raters", "with a personal link each, or let anyone join (Settings)"],
  ];
  const line = ([isDone, href, text, detail]) =>
    el("li", null, el("a", { href }, text), ` ${detail} `, isDone && el("span", { class: "tag good" }, "done"));
  const node = card(
    "Next steps",
    "There are no votes yet. The results appear here as soon as the first ones arrive.",
    el("ol", null, steps.map(line)),
  );
  node.classList.add("wide");
  return { node, refresh: async () => node.classList.toggle("done", app.study.votes > 0) };
}

const COVARIATES = { side: "being shown first", length: "a longer text", headers: "more headers", lists: "more lists", bold: "more bold text" };

function covariateEffects(effects) {
  const said = effects.map(({ name, coefficient, low, high }) => {
    const unit = name === "side" ? "" : " per standard deviation";
    return `${COVARIATES[name] ?? name} ${signed(coefficient)}${unit} (${signed(low)} to ${signed(high)})`;
  });
  return el("p", null, `Added to the log-odds of winning, and excluded from utilities: ${said.join("; ")}.`);
}

const acceptableLevel = ({ acceptable_level: level, of }) =>
  el("p", null, `Acceptable: a utility above ${signed(level)}. There, ${of === "system" ? "a system" : "an item"} is preferred to “both bad” more often than not.`);

function byCategory(app, covariates) {
  const cell = (row) => (row?.votes ? `${ranks(row)} (${signed(row.utility)})` : "–");
  const draw = ({ overall, categories }) => {
    const boards = categories.map((board) => new Map(board.standings.map((row) => [row.arm, row])));
    const line = (row) =>
      el(
        "tr",
        null,
        el("th", { scope: "row" }, itemName(row.arm, { tabindex: 0 })),
        [row, ...boards.map((board) => board.get(row.arm))].map((each) => el("td", { class: "number" }, cell(each))),
      );
    const heads = categories.map((board) => `${board.category} (${board.votes.toLocaleString("en")} votes)`);
    return scrollable(
      "By category",
      el("table", null, headerRow(["system", "all prompts", ...heads], (k) => k > 0), el("tbody", null, overall.standings.map(line))),
    );
  };
  return new LivePanel({
    title: "By category",
    wide: true,
    description: "Possible ranks and utility of each system on all prompts, and on the prompts of each category.",
    path: () => `${app.base}/leaderboard-by-category${app.query({ category: "", context: "", by: "", ...covariates() })}`,
    draw,
  });
}

const ranks = (row) => (row.best_rank === row.worst_rank ? `${row.best_rank}` : `${row.best_rank}–${row.worst_rank}`);

/** The tolerance that ends studies whose best items are nearly equal. */
const toleranceField = (onchange) =>
  el(
    "label",
    null,
    "Tolerance in percentage points ",
    el("input", { type: "number", min: 0, max: 49, step: "any", value: 0, onchange }),
    el("small", null, " Accept an item as the best if others win at most 50% plus this against it."),
  );

function stoppingDecision(data, app) {
  const fact = (term, value) => el("div", null, el("dt", null, term), el("dd", null, value));
  return el(
    "div",
    null,
    el(
      "p",
      { class: "decision" },
      el("span", { class: `tag ${data.done ? "good" : "warn"}` }, data.done ? "You can stop" : "Keep going"),
      data.context && el("b", { dir: "auto" }, `${data.context}: `),
      el("span", { dir: "auto" }, inPageWords(data.reason.endsWith(".") ? data.reason : `${data.reason}.`)),
      " ",
      forecast(data, app.study.votes),
    ),
    data.flagged.length > 0 &&
      note("warn", data.flagged_note, ". ", el("a", { href: "#raters" }, "Look at the raters")),
    el(
      "dl",
      { class: "facts" },
      fact("entries in the vote log", app.study.votes.toLocaleString("en")),
      fact(app.systems.length ? "answers" : "items", app.study.arms.toLocaleString("en")),
      fact("pending pairs", app.study.pending ?? "–"),
      fact("goal", goalLabel(data.goal)),
    ),
  );
}

/** A reason in the words of the page: items, and a tolerance in percentage points, as its field has it. */
export const inPageWords = (reason) =>
  reason.replace('tolerance=0.05, unit="chance"', "5 percentage points").replace(/\b(where|all|one|only) arm(s?)\b/g, "$1 item$2");

function forecast({ done, votes_expected: expected, raters_needed: raters }, votes) {
  if (done || raters !== null) return "";
  if (expected === null) return votes ? "It is too early to predict how many more votes are needed." : "";
  return `About ${expected.toLocaleString("en")} more ${expected === 1 ? "vote is" : "votes are"} needed.`;
}

function standingsTable(shown, data, range) {
  const hasBothBad = data.standings.some((each) => each.both_bad);
  const hasLevel = data.acceptable_level !== null;
  const hasGroups = new Set(data.standings.map((each) => each.group)).size > 1;
  const headers = [
    "rank",
    data.of === "system" ? "system" : "item",
    "utility",
    "interval",
    "possible ranks",
    "probability of being the best",
    hasLevel && "probability of being acceptable",
    "votes",
    "wins",
    "ties",
    hasBothBad && "both bad",
    hasGroups && "group",
  ].filter((each) => each !== false);
  const row = (each, k) =>
    el(
      "tr",
      null,
      el("td", { class: "number" }, k + 1),
      el("th", { scope: "row" }, itemName(each.arm, { tabindex: 0 })),
      el("td", { class: "number" }, `${signed(each.utility)} (${signed(each.low)} to ${signed(each.high)})`),
      el("td", null, intervalMark(each, range)),
      el(
        "td",
        { class: "bar" },
        el(
          "div",
          null,
          rankMark(each, data.n_arms),
          ranks(each),
        ),
      ),
      el("td", { class: "bar" }, el("div", null, probabilityMark(each.chance_best), percent(each.chance_best))),
      hasLevel && el("td", { class: "bar" }, el("div", null, probabilityMark(each.acceptable), percent(each.acceptable))),
      [each.votes, each.wins, each.ties, hasBothBad && each.both_bad, hasGroups && each.group]
        .filter((value) => value !== false)
        .map((value) => el("td", { class: "number" }, value)),
    );
  return scrollable(
    "Leaderboard",
    el(
      "table",
      { class: "board" },
      el("caption", null, `${data.votes.toLocaleString("en")} votes on ${data.n_arms.toLocaleString("en")} ${data.of === "system" ? "systems" : "items"}`),
      headerRow(headers, (k) => k > 5),
      el("tbody", null, shown.map(row)),
    ),
  );
}

// -- pairs --------------------------------------------------------------------------------------------------------------

export function pairsTab(app) {
  return panelGrid([
    new LivePanel({
      title: "Win matrix",
      wide: true,
      path: () => `${app.base}/win-matrix${app.query()}`,
      draw: winMatrix,
      description:
        "Each square is a pair: how often the item of the row won against the item of the column. Items are sorted by rank, so wins gather above the diagonal.",
    }),
  ]);
}

// -- diagnostics --------------------------------------------------------------------------------------------------------

export function diagnosticsTab(app) {
  return panelGrid([
    new LivePanel({
      title: "Calibration",
      path: () => `${app.base}/calibration${app.query()}`,
      description:
        "Are the predictions right? Held-out votes, grouped by the predicted probability that the left side wins. Points on the dashed line are predicted perfectly; larger points stand for more votes.",
      draw: (data) => el("div", null, calibrationPlot(data), data.votes > 0 && el("p", null, calibrationError(data))),
    }),
    new LivePanel({
      title: "Goodness of fit",
      path: () => `${app.base}/goodness-of-fit${app.query()}`,
      description:
        "Does the model describe the votes? Each line is a test of what it leaves out. A deviation is in log-odds, for ties in shares; a p-value below 1% is a misfit.",
      draw: fitChecks,
    }),
    new LivePanel({
      title: "Value of the pair selection",
      path: () => `${app.base}/regret${app.query()}`,
      description:
        "How much better are the pairs that the policy chooses than random ones? Regret is how far the two items of a pair are behind the best one, on average, by utilities estimated from the random pairs.",
      notEnoughData:
        "This needs votes on pairs chosen by the policy and at random. Set “Random share” in the Settings tab: 0.1 is enough.",
      draw: (data) => el("div", null, regretBars(data), el("p", null, savings(data.saved))),
    }),
  ]);
}

function fitChecks({ checks, advice }) {
  const row = (each) =>
    el(
      "tr",
      null,
      el("th", { scope: "row" }, each.name),
      el("td", { class: "number" }, each.size === null ? "–" : each.size.toFixed(2)),
      el("td", { class: "number" }, each.groups.toLocaleString("en")),
      el("td", { class: "number" }, each.p_value < 0.001 ? "below 0.001" : each.p_value.toFixed(3)),
    );
  const table = el("table", null, headerRow(["check", "deviation", "groups", "p-value"], (k) => k > 0), el("tbody", null, checks.map(row)));
  return el("div", null, el("p", null, advice), checks.length > 0 && scrollable("Goodness of fit", table));
}

const calibrationError = (data) => [
  `Mean error of the predictions: ${(100 * data.error).toFixed(1)} percentage points, over ${data.votes.toLocaleString("en")} votes.`,
  data.observed_ties > 0 &&
    ` Ties: ${percent(data.predicted_ties, 1)} predicted, ${percent(data.observed_ties, 1)} observed.`,
];

function savings(estimate) {
  const range = `(${signed(estimate.low)} to ${signed(estimate.high)})`;
  if (estimate.low > 0)
    return `Pairs chosen by the policy have ${estimate.value.toFixed(2)} less regret than random pairs ${range}.`;
  if (estimate.high < 0)
    return `Pairs chosen by the policy have ${(-estimate.value).toFixed(2)} more regret than random pairs ${range}.`;
  return `There is no clear difference yet ${range}.`;
}
