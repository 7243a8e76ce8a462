// What the study says: who is best and how sure that is; who won against whom; whether to believe it.
import { chanceLines } from "../../charts/probability-of-best.js";
import { percent, signed } from "../../charts/primitives.js";
import { calibrationPlot, regretBars } from "../../charts/calibration.js";
import { button, el, named } from "../../shared/dom.js";
import { winMatrix } from "../../charts/win-matrix.js";
import { allArms, intervalMark, rankMark, reach, shareMark } from "../../charts/intervals.js";
import { Panel } from "../live-panel.js";

const FIRST_ROWS = 25;

export function part(panels) {
  const node = el(
    "div",
    { class: "grid" },
    panels.map((panel) => panel.node),
  );
  // One after the other, the first on the page first: the server makes them one at a time, and none should wait for the slowest.
  const refresh = async () => {
    for (const panel of panels) await panel.refresh();
  };
  return { node, refresh };
}

export function resultsPart(here) {
  let rows = FIRST_ROWS;
  const more = (count, data, panel) => {
    rows = count;
    panel.body.replaceChildren(board(data));
  };
  const board = (data) => {
    const shown = data.standings.slice(0, rows);
    const left = data.standings.length - shown.length;
    return el(
      "div",
      null,
      data.note && el("p", { class: "note warn" }, data.note),
      data.standings.length > 30 && allArms(data.standings),
      standingsTable(shown, data, reach(data.standings)),
      left > 0 &&
        el(
          "p",
          null,
          button(`Show ${Math.min(left, 100)} more of ${left}`, () => more(rows + 100, data, ranking)),
          " ",
          button("Show all", () => more(Infinity, data, ranking)),
        ),
    );
  };
  const ranking = new Panel({
    title: "Leaderboard",
    wide: true,
    path: () => `${here.base}/leaderboard${here.query()}`,
    draw: board,
    about:
      "Arms from best to worst by the votes that count: not by those on gold and repeated pairs, nor by those that were skipped, taken back, or given by raters who were dropped. Utility is relative to the mean arm: a lead of 1 means winning 73 of 100 votes that are no ties. " +
      "Each interval holds with 95 % probability; ranks are those that the votes leave open.",
  });
  return part([
    new Panel({
      title: "Can I stop?",
      wide: true,
      about: "By the goal of the study, at an error rate of 5 % however often you look.",
      path: () => `${here.base}/can-stop${here.query()}`,
      draw: (data) => verdict(data, here),
      beside: () => [here.study.votes, here.study.arms, here.study.out],
    }),
    ranking,
    new Panel({
      title: "Chance of being best, vote by vote",
      wide: true,
      about: "How sure the study was of each of the leading arms, had one looked after so many votes.",
      path: () => `${here.base}/history${here.query({ top: 8 })}`,
      draw: chanceLines,
    }),
  ]);
}

function verdict(data, here) {
  const fact = (term, value) => el("div", null, el("dt", null, term), el("dd", null, value));
  return el(
    "div",
    null,
    el(
      "p",
      { class: "verdict" },
      el("span", { class: `tag ${data.done ? "good" : "warn"}` }, data.done ? "You can stop" : "Go on"),
      data.context && el("b", { dir: "auto" }, `${data.context}: `),
      el("span", { dir: "auto" }, `${data.reason}.`), // as it is: it may begin with the id of an arm
      " ",
      stillExpected(data, here.study.votes),
    ),
    el(
      "dl",
      { class: "facts" },
      fact("rows in the log", here.study.votes.toLocaleString("en")),
      fact("arms", here.study.arms.toLocaleString("en")),
      fact("pairs out", here.study.out ?? "–"),
      fact("goal", data.goal),
    ),
  );
}

function stillExpected({ done, votes_expected: expected }, votes) {
  if (done) return "";
  if (expected === null && !votes) return "";
  if (expected === null) return "How many more votes it takes cannot be foreseen yet.";
  return `About ${expected.toLocaleString("en")} more ${expected === 1 ? "vote is" : "votes are"} expected.`;
}

function standingsTable(shown, data, domain) {
  const bad = data.standings.some((each) => each.both_bad);
  const groups = new Set(data.standings.map((each) => each.group)).size > 1;
  const headers = [
    "rank",
    "arm",
    "utility",
    "ranks left open",
    "chance of being best",
    "votes",
    "won",
    "ties",
    bad && "both bad",
    groups && "group",
  ];
  const caption = `${data.votes.toLocaleString("en")} votes on ${data.n_arms.toLocaleString("en")} arms`;
  return el(
    "div",
    { class: "scroll", tabindex: 0, role: "group", "aria-label": "Leaderboard" },
    el(
      "table",
      { class: "board" },
      el("caption", null, caption),
      el(
        "thead",
        null,
        el(
          "tr",
          null,
          headers
            .filter((each) => each !== false)
            .map((each, k) =>
              el("th", { scope: "col", colspan: each === "utility" ? 2 : null, class: k > 4 ? "right" : null }, each),
            ),
        ),
      ),
      el(
        "tbody",
        null,
        shown.map((each, k) =>
          el(
            "tr",
            null,
            el("td", { class: "number" }, k + 1),
            el("th", { scope: "row" }, named(each.arm, { tabindex: 0 })),
            el("td", { class: "number" }, `${signed(each.utility)} (${signed(each.low)} to ${signed(each.high)})`),
            el("td", null, intervalMark(each, domain)),
            el(
              "td",
              { class: "bar" },
              el(
                "div",
                null,
                rankMark(each, data.n_arms),
                each.best_rank === each.worst_rank ? each.best_rank : `${each.best_rank}–${each.worst_rank}`,
              ),
            ),
            el("td", { class: "bar" }, el("div", null, shareMark(each.chance_best), percent(each.chance_best))),
            [each.votes, each.wins, each.ties, bad && each.both_bad, groups && each.group]
              .filter((value) => value !== false)
              .map((value) => el("td", { class: "number" }, value)),
          ),
        ),
      ),
    ),
  );
}

export function pairsPart(here) {
  return part([
    new Panel({
      title: "Who won against whom",
      wide: true,
      path: () => `${here.base}/win-matrix${here.query()}`,
      draw: winMatrix,
      about:
        "A square is a pair: how often the arm of the row won against that of the column. Arms are in the order of their rank, so that wins gather above the diagonal.",
    }),
  ]);
}

export function trustPart(here) {
  return part([
    new Panel({
      title: "Do predictions come true?",
      path: () => `${here.base}/calibration${here.query()}`,
      about:
        "Votes that the fit has not seen, grouped by how likely it called a win of the left side. Points near the dashed line were predicted right; larger points are more votes.",
      draw: (data) =>
        el(
          "div",
          null,
          calibrationPlot(data),
          data.votes > 0 &&
            el(
            "p",
            null,
            `On average predictions are off by ${(100 * data.error).toFixed(1)} percentage points, over ${data.votes.toLocaleString("en")} votes.`,
            data.observed_ties > 0 &&
              ` Ties: ${percent(data.predicted_ties, 1)} predicted, ${percent(data.observed_ties, 1)} observed.`,
          ),
        ),
    }),
    new Panel({
      title: "What did the choice of pairs save?",
      path: () => `${here.base}/regret${here.query()}`,
      about:
        "Regret is how far the two arms of a pair are behind the best one, on average. Pairs that the policy chose, against pairs that chance chose (a share of pairs must be left to chance).",
      nothing: (error) =>
        error.message.startsWith("no vote") &&
        "It takes votes on pairs of both kinds. “Random share” under “Run the study” says how many pairs are left to chance; 0.1 is enough.",
      draw: (data) =>
        el("div", null, regretBars(data), el("p", null, saved(data.saved), " ", el("small", null, data.estimator))),
    }),
  ]);
}

function saved(estimate) {
  const range = `(between ${signed(estimate.low)} and ${signed(estimate.high)})`;
  if (estimate.low > 0)
    return `A pair of the policy costs ${estimate.value.toFixed(2)} less than a random one ${range}.`;
  if (estimate.high < 0)
    return `A pair of the policy costs ${(-estimate.value).toFixed(2)} more than a random one ${range}.`;
  return `No difference is certain yet ${range}.`;
}
