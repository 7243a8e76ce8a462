// What the person does who runs the study: each with a sentence on what it does. What cannot be undone asks first.
import { call, get, patch, post, sentenceOf } from "../../shared/api.js";
import { announce, button, confirm, el, named, replace, table } from "../../shared/dom.js";
import { GOAL_NAMES, goalChoices, RATERS_SEE, settingsForm } from "../forms.js";

const STATES = [
  ["open", "Open", "Pairs are asked and votes taken."],
  ["paused", "Pause", "Nothing new is asked. Answers to pairs that are out still count."],
  ["ended", "Close", "Nothing is asked, and no more votes are taken. It can be opened again."],
  ["archived", "Put away", "Kept as it is, for reading only, and out of the list of studies. It can be opened again."],
];

const ANSWERS = [
  ["tie", "Tie"],
  ["both_bad", "Both bad"],
  ["skip", "Skip"],
];

const LIMITS = [
  {
    name: "max_votes",
    label: "Votes in total",
    kind: "number",
    min: 1,
    help: "Ask no more when there are so many. Pairs that are out count; gold and repeated pairs do not.",
  },
  { name: "max_votes_per_rater", label: "Votes of a rater", kind: "number", min: 1 },
  { name: "max_votes_per_pair", label: "Votes on a pair", kind: "number", min: 1 },
];

const ASKING = [
  {
    name: "lease_seconds",
    label: "Seconds a rater has for a pair",
    kind: "number",
    min: 1,
    step: "any",
    help: "Then somebody else may get it; a late answer still counts.",
  },
  { name: "raters_per_duel", label: "Raters for each pair", kind: "number", min: 1 },
  {
    name: "random_share",
    label: "Random share",
    kind: "number",
    min: 0,
    max: 1,
    step: "any",
    help: "The share of pairs that is left to chance, from 0 to 1. With some, it can be said what the choice of pairs saves.",
  },
  {
    name: "gold_share",
    label: "Gold share",
    kind: "number",
    min: 0,
    max: 1,
    step: "any",
    help: "The share of pairs that are gold pairs, until a rater has seen them all.",
  },
  {
    name: "repeat_pairs",
    label: "May a rater see a pair again?",
    kind: "text",
    help: "“never”; a whole number: after so many other pairs; or a share below 1: so many pairs are shown again to see whether the answer is the same.",
    read: (input) =>
      input.value.trim() === "" || Number.isNaN(Number(input.value))
        ? input.value.trim() || "never"
        : Number(input.value),
  },
];

const CRITERIA = [
  {
    name: "criteria",
    label: "Questions about each pair, one a line",
    kind: "lines",
    help: "Empty: a single question. The policy learns from the first, which stays first once there are votes.",
  },
];

const card = (title, about, ...children) =>
  el(
    "section",
    { class: "card", "aria-label": title },
    el("h2", null, title),
    el("p", { class: "about" }, about),
    children,
  );

export function ownerPart(here) {
  const node = el("div", { class: "masonry" });
  const change = async (body) => {
    await patch(here.base, body);
    await here.refreshStudy();
  };
  const settings = (changed) => change({ settings: changed });
  const fill = async () => {
    const { study } = here;
    here.choices ??= await get("/choices");
    const form = (specs) => settingsForm(specs, study.settings, settings);
    replace(
      node,
      stateCard(here, change, fill),
      goalCard(here, settings),
      card(
        "What raters see",
        "The words around a pair, and the answers that are offered.",
        form(RATERS_SEE),
        answersOffered(study, settings),
      ),
      card(
        "Who may rate",
        "Everybody needs a link of their own, unless you let people in.",
        settingsForm(
          [{ name: "open_registration", label: "Anybody who opens the rater page may take part", kind: "check" }],
          study.settings,
          settings,
        ),
      ),
      card("Limits", "When to stop asking by itself. An empty field is no limit.", form(LIMITS)),
      card(
        "How pairs are asked",
        `Policy ${study.settings.policy}, seed ${study.settings.seed}: these two are fixed, since what the policy knows follows from them and the log.`,
        form(ASKING),
      ),
      card(
        "Several questions",
        "A pair can be judged by more than one question; every reading can be had for each.",
        form(CRITERIA),
      ),
      goldCard(here),
      card(
        "Name",
        "The address of the study stays the same.",
        settingsForm([{ name: "name", label: "Name", kind: "text", required: true }], study, change),
      ),
      here.everything && endCard(here),
    );
  };
  let filled = null;
  // Forms are not drawn anew under somebody's hands: only when they are opened.
  return { node, refresh: ({ live = false } = {}) => (live && filled ? null : (filled = fill())) };
}

function stateCard(here, change, again) {
  const said = el("p", { role: "status" });
  const set = async (state, word) => {
    try {
      await change({ state });
      announce(`${word}: done.`);
      await again();
    } catch (error) {
      replace(said, el("span", { class: "note bad" }, sentenceOf(error)));
    }
  };
  return card(
    "State",
    "Any of these leads to any other.",
    said,
    el(
      "div",
      { class: "states" },
      STATES.map(([state, word, what]) => [
        button(word, () => set(state, word), {
          disabled: here.study.state === state,
          "aria-pressed": String(here.study.state === state),
        }),
        el("span", null, what),
      ]),
    ),
  );
}

function goalCard(here, save) {
  const said = el("p", { role: "status" });
  const choose = async (goal) => {
    try {
      await save({ goal });
      replace(said, el("span", { class: "tag good" }, `The goal is: ${GOAL_NAMES[goal] ?? goal}.`));
    } catch (error) {
      replace(said, el("span", { class: "note bad" }, sentenceOf(error)));
    }
  };
  return card(
    "Goal",
    "It decides when the study can stop. The policy stays the one that the study was made with.",
    goalChoices(here.choices.goals, here.study.settings.goal ?? "best", choose),
    said,
  );
}

function answersOffered(study, save) {
  const boxes = ANSWERS.map(([value, text]) => [
    value,
    el("input", { type: "checkbox", checked: study.settings.answers.includes(value), onchange: () => store() }),
    text,
  ]);
  const said = el("span", { role: "status" });
  const store = async () => {
    try {
      await save({ answers: boxes.filter(([, box]) => box.checked).map(([value]) => value) });
      replace(said, el("span", { class: "tag good" }, "Saved."));
    } catch (error) {
      replace(said, el("span", { class: "note bad" }, sentenceOf(error)));
    }
  };
  return el(
    "fieldset",
    null,
    el("legend", null, "Answers besides left and right"),
    boxes.map(([, box, text]) => el("label", null, box, ` ${text}`)),
    said,
  );
}

function goldCard(here) {
  const list = el("div");
  const said = el("p", { role: "status" });
  const draw = ({ gold }) =>
    replace(
      list,
      gold.length
        ? table(
            "Gold pairs",
            ["left", "right", "answer", ""],
            gold.map((each) => [
              named(each.first),
              named(each.second),
              each.outcome.replace("_", " "),
              button("Remove", () => change("/gold/remove", { first: each.first, second: each.second }), {
                class: "small",
              }),
            ]),
          )
        : el("p", { class: "muted" }, "There are none yet."),
    );
  const change = async (path, body) => {
    try {
      draw(await post(here.base + path, body));
      replace(said);
    } catch (error) {
      replace(said, el("span", { class: "note bad" }, sentenceOf(error)));
    }
  };
  const input = (name, label) =>
    el("label", null, label, el("input", { type: "text", name, dir: "auto", required: true }));
  const outcome = el(
    "select",
    { name: "outcome" },
    [
      ["first", "the first wins"],
      ["second", "the second wins"],
      ["tie", "tie"],
      ["both_bad", "both bad"],
    ].map(([value, text]) => el("option", { value }, text)),
  );
  const form = el(
    "form",
    {
      class: "row",
      onsubmit: (event) => {
        event.preventDefault();
        const given = new FormData(event.target);
        change("/gold", {
          first: given.get("first").trim(),
          second: given.get("second").trim(),
          outcome: given.get("outcome"),
        });
      },
    },
    input("first", "Id of one arm"),
    input("second", "Id of another"),
    el("label", null, "Answer", outcome),
    el("button", { class: "primary" }, "Add"),
  );
  get(`${here.base}/gold`).then(draw, (error) => replace(said, sentenceOf(error)));
  return card(
    "Gold pairs",
    "Pairs whose answer you know, slipped in among the others once for each rater. Raters are judged by them, arms are not.",
    list,
    form,
    said,
  );
}

function endCard(here) {
  const said = el("p", { role: "status" });
  const remove = async () => {
    const { name } = here.study;
    if (
      !(await confirm(
        "Delete this study?",
        "All its arms and votes are gone for good. Take an archive first if you may want them again.",
        "Delete for good",
        name,
      ))
    )
      return;
    try {
      await call("DELETE", `${here.base}?confirm=${encodeURIComponent(name)}`);
      location.assign("/");
    } catch (error) {
      replace(said, el("span", { class: "note bad" }, sentenceOf(error)));
    }
  };
  return card(
    "Delete",
    "There is no way back; “put away” keeps the study out of sight instead.",
    button("Delete this study…", remove, { class: "danger" }),
    said,
  );
}
