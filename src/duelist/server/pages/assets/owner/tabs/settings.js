// The Settings tab. Every setting has an explanation; what cannot be undone asks for confirmation.
import { call, get, patch } from "../../shared/api.js";
import { speak, button, card, confirm, el, note, replace } from "../../shared/dom.js";
import { formOf, goalChoice, hasUnsaved, languageSetting, RATER_PAGE_SETTINGS, settingsForm } from "../forms.js";
import { describe } from "../messages.js";
import { flowCard } from "./flow.js";
import { goldCard } from "./gold.js";
import { recruitingCard } from "./recruiting.js";
import { wordingsCard } from "./wordings.js";

const STATE_BUTTONS = [
  ["open", "Open", "Raters get pairs and can vote."],
  ["paused", "Pause", "Raters get no new pairs. Votes on pending pairs still count."],
  ["ended", "End", "Raters get no new pairs, and no more votes are accepted."],
  ["archived", "Archive", "The study is read-only and hidden from the list of studies."],
];

const OFFERED_OUTCOMES = {
  name: "answers",
  label: "Votes besides left and right",
  kind: "checks",
  options: [
    ["tie", "Tie"],
    ["both_bad", "Both bad"],
    ["skip", "Skip"],
  ],
};

const wholeNumber = "Enter a whole number of at least 1, or leave the field empty.";
const LIMITS = [
  {
    name: "max_votes",
    label: "Votes in total",
    kind: "number",
    min: 1,
    help: "Pending pairs count, too. Skips do not.",
    invalid: wholeNumber,
  },
  { name: "max_votes_per_rater", label: "Votes per rater", kind: "number", min: 1, invalid: wholeNumber },
  { name: "max_votes_per_pair", label: "Votes per pair", kind: "number", min: 1, invalid: wholeNumber },
];

const share = { kind: "number", min: 0, max: 1, step: "any", invalid: "Enter a number from 0 to 1." };
const PAIR_SELECTION = [
  {
    name: "lease_seconds",
    label: "Time limit per pair, in seconds",
    kind: "number",
    min: 1,
    step: "any",
    help: "After this time, another rater can get the pair. A late vote still counts.",
    invalid: "Enter a number of seconds, at least 1.",
  },
  {
    name: "raters_per_duel",
    label: "Raters per pair",
    kind: "number",
    min: 1,
    invalid: "Enter a whole number of at least 1.",
  },
  {
    ...share,
    name: "random_share",
    label: "Random share",
    help: "Share of pairs that are chosen at random, from 0 to 1. A few random pairs show how many votes the policy saves.",
  },
  {
    ...share,
    name: "gold_share",
    label: "Gold share",
    help: "Share of gold pairs, from 0 to 1, until a rater has seen all of them.",
  },
  {
    name: "repeat_pairs",
    label: "Repeated pairs",
    kind: "text",
    help: "“never”, the number of other pairs before a pair is repeated, or a share below 1 of pairs to repeat as a consistency check.",
    invalid: "Enter “never”, a whole number, or a share below 1.",
    read: (input) =>
      input.value.trim() === "" || Number.isNaN(Number(input.value))
        ? input.value.trim() || "never"
        : Number(input.value),
  },
];

const CRITERIA = [
  {
    name: "criteria",
    label: "Criteria, one per line",
    kind: "lines",
    help: "Leave empty for a single question. The policy learns from the first criterion, which is fixed once there are votes.",
  },
];

export function settingsTab(app) {
  const node = el("div", { class: "masonry" });
  const change = async (body) => {
    await patch(app.base, body);
    await app.refreshStudy();
  };
  const changeSettings = (settings) => change({ settings });
  const fill = async () => {
    const { study } = app;
    app.choices ??= await get("/choices");
    const form = (specs) => settingsForm(specs, study.settings, changeSettings);
    replace(
      node,
      stateCard(app, change),
      goalCard(app, changeSettings),
      card(
        "Rater page",
        "The texts around a pair, and the votes that are offered.",
        form([...RATER_PAGE_SETTINGS, OFFERED_OUTCOMES, languageSetting(app.choices.languages)]),
      ),
      flowCard(app, changeSettings),
      recruitingCard(app, changeSettings),
      card("Limits", "Stop showing pairs automatically. Leave a field empty for no limit.", form(LIMITS)),
      card(
        "Pair selection",
        `Policy ${study.settings.policy}, seed ${study.settings.seed}. These two cannot be changed after the study is created.`,
        form(PAIR_SELECTION),
      ),
      card("Criteria", "Ask several questions about each pair. There are separate results for each.", form(CRITERIA)),
      goldCard(app),
      wordingsCard(app, changeSettings),
      card(
        "Name",
        "The address of the study does not change.",
        settingsForm([{ name: "name", label: "Name", kind: "text", required: true }], study, change),
      ),
      app.isServerAdmin && deleteCard(app),
    );
  };
  // Neither live changes nor a change of tab redraw forms with changes that are not saved.
  const unsaved = new Set();
  node.addEventListener("input", ({ target }) => {
    const form = target.closest("form");
    if (form?.matches(".settings:not([data-tracked])")) unsaved.add(form);
  });
  node.addEventListener("saved", ({ target }) => unsaved.delete(target));
  const isUnsaved = () => unsaved.size > 0 || hasUnsaved(node);
  addEventListener("beforeunload", (event) => isUnsaved() && event.preventDefault()); // the browser asks whether to leave
  let filled = null;
  return { node, refresh: ({ live = false } = {}) => ((live && filled) || isUnsaved() ? filled : (filled = fill())) };
}

function stateCard(app, change) {
  const status = el("div", { role: "status" });
  const buttons = el("div", { class: "states" });
  const set = async (state, verb) => {
    try {
      await change({ state });
      speak(`${verb}: done.`);
      draw();
    } catch (error) {
      replace(status, note("bad", describe(error)));
    }
  };
  const draw = () =>
    replace(
      buttons,
      STATE_BUTTONS.map(([state, verb, effect]) => [
        button(verb, () => set(state, verb), {
          disabled: app.study.state === state,
          "aria-pressed": String(app.study.state === state),
        }),
        el("span", null, effect),
      ]),
    );
  draw();
  return card(
    "State",
    "You can switch at any time.",
    status,
    buttons,
  );
}

function goalCard(app, save) {
  let goal = app.study.settings.goal ?? "best";
  const field = {
    node: goalChoice(app.choices.goals, goal, (chosen) => {
      goal = chosen;
    }),
    spec: { name: "goal", label: "Goal" },
    read: () => goal,
  };
  return card(
    "Goal",
    "The goal decides when the study can stop. The policy stays the same.",
    formOf([field], save),
  );
}

function deleteCard(app) {
  const status = el("div", { role: "status" });
  const remove = async () => {
    const { name } = app.study;
    const confirmed = await confirm(
      "Delete this study?",
      "All its items and votes are permanently deleted. Export an archive first if you may need them again.",
      "Delete permanently",
      name,
    );
    if (!confirmed) return;
    try {
      await call("DELETE", `${app.base}?confirm=${encodeURIComponent(name)}`);
      location.assign("/");
    } catch (error) {
      replace(status, note("bad", describe(error)));
    }
  };
  return card(
    "Delete",
    "Deleting a study cannot be undone. To hide it, archive it instead.",
    button("Delete this study…", remove, { class: "danger" }),
    status,
  );
}
