// The planner of the new-study page: votes, money and chances of a decision, from studies that the server simulates.
import { percent } from "../charts/primitives.js";
import { decidedCurve } from "../charts/decided-curve.js";
import { post } from "../shared/api.js";
import { button, card, el, note, number, replace, speak, table } from "../shared/dom.js";
import { createField } from "./forms.js";
import { describe } from "./messages.js";

const FIELDS = [
  { name: "raters", label: "Raters", kind: "number", min: 1, placeholder: "" },
  { name: "votes_per_rater", label: "Votes per rater", kind: "number", min: 1, placeholder: "" },
  {
    name: "effect",
    label: "Votes that the better of two items wins, in percent",
    kind: "number",
    min: 51,
    max: 99,
    placeholder: "",
    help: "On average over all pairs: 50 if nobody sees a difference, 100 if everyone agrees. 60 is a subtle difference, 70 a clear one, 80 a large one.",
  },
  {
    name: "tolerance",
    label: "Tolerance, in percentage points",
    kind: "number",
    min: 0,
    max: 40,
    placeholder: "0",
    help: "How much better another item may be than the one recommended. A small tolerance saves many votes.",
  },
  { name: "pay_per_rater", label: "Payment per rater", kind: "number", min: 0, step: "any", placeholder: "0" },
];
const DEFAULTS = { raters: 20, votes_per_rater: 50, effect: 70 };
const count = (value) => Math.round(value).toLocaleString("en");
const money = (value) => value.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** The card; `items` is how many items are compared, and `goalOf` returns the goal that is chosen. */
export function planCard(items, goalOf) {
  const fields = FIELDS.map((spec) => createField(spec, DEFAULTS[spec.name]));
  const top = createField(
    { name: "top", label: "Places that matter, for the goal rank", kind: "number", min: 1, placeholder: "all" },
    null,
  );
  const status = el("div", { role: "status" });
  const result = el("div", { id: "plan" });
  const run = async () => {
    const given = Object.fromEntries([...fields, top].map((each) => [each.spec.name, each.read()]));
    const goal = goalOf();
    runButton.disabled = true;
    replace(result);
    replace(status, el("p", { class: "muted" }, "Simulating studies…"));
    try {
      const found = await post("/plan", {
        items,
        goal,
        raters: given.raters ?? DEFAULTS.raters,
        votes_per_rater: given.votes_per_rater ?? DEFAULTS.votes_per_rater,
        effect: (given.effect ?? DEFAULTS.effect) / 100,
        tolerance: (given.tolerance ?? 0) / 100,
        pay_per_rater: given.pay_per_rater ?? 0,
        top: goal === "rank" ? given.top : null,
      });
      replace(status);
      replace(result, showPlan(found, goal));
      speak(`A decision is expected with a chance of ${percent(found.chance_decided)}.`);
    } catch (error) {
      replace(status, note("bad", describe(error)));
    }
    runButton.disabled = false;
  };
  const runButton = button("Simulate", run, { id: "simulate" });
  return card(
    "Plan before the first vote",
    "Optional: how many votes will it take, what will it cost, and will there be a decision? The server simulates studies like this one in a few seconds.",
    el("div", { class: "planner settings" }, fields.map((each) => each.node), top.node),
    el("p", null, runButton),
    status,
    result,
  );
}

function showPlan(found, goal) {
  const { votes, costs } = found;
  const range = (each, format) => `${format(each.median)} (${format(each.low)} to ${format(each.high)})`;
  const rows = [
    ["chance of a decision", number(percent(found.chance_decided))],
    goal !== "learn" && [`chance that the ${goal === "rank" ? "order" : "item"} named at the end is right`, number(percent(found.chance_right))],
    goal !== "learn" && ["chance of a wrong decision", number(percent(found.chance_wrong))],
    ["pairs of items in the right order", number(percent(found.agreement))],
    ["votes: median (10% to 90% of studies)", number(range(votes, count))],
    ["votes for a decision in 80% of studies", number(found.votes_needed === null ? `more than ${count(found.budget)}` : count(found.votes_needed))],
    found.most_cost > 0 && ["cost: median (10% to 90% of studies)", number(range(costs, money))],
    found.most_cost > 0 && ["cost of all votes", number(money(found.most_cost))],
  ].filter(Boolean);
  return el(
    "div",
    { class: "stack" },
    found.advice && note("warn", found.advice),
    table(`Expected, from ${found.runs} simulated studies`, ["", "expected"], rows),
    decidedCurve(found, goal),
  );
}
