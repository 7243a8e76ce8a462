// The Settings tab. Every setting has an explanation; what cannot be undone asks for confirmation.
import { call, get, patch, post } from "../../shared/api.js";
import { speak, button, card, confirm, el, note, replace, table } from "../../shared/dom.js";
import { itemIds, itemLabel, itemName } from "../../shared/item-names.js";
import { goalChoice, goalLabel, languageSetting, OUTCOMES, RATER_PAGE_SETTINGS, savedTag, settingsForm } from "../forms.js";
import { describe } from "../messages.js";
import { recruitingCard } from "./recruiting.js";

const STATE_BUTTONS = [
  ["open", "Open", "Raters get pairs and can vote."],
  ["paused", "Pause", "Raters get no new pairs. Votes on pending pairs still count."],
  ["ended", "End", "Raters get no new pairs, and no more votes are accepted."],
  ["archived", "Archive", "The study is read-only and hidden from the list of studies."],
];

const OPTIONAL_OUTCOMES = [
  ["tie", "Tie"],
  ["both_bad", "Both bad"],
  ["skip", "Skip"],
];

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
        form([...RATER_PAGE_SETTINGS, languageSetting(app.choices.languages)]),
        outcomesField(study, changeSettings),
      ),
      recruitingCard(app, changeSettings),
      card("Limits", "Stop showing pairs automatically. Leave a field empty for no limit.", form(LIMITS)),
      card(
        "Pair selection",
        `Policy ${study.settings.policy}, seed ${study.settings.seed}. These two cannot be changed after the study is created.`,
        form(PAIR_SELECTION),
      ),
      card("Criteria", "Ask several questions about each pair. There are separate results for each.", form(CRITERIA)),
      goldCard(app),
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
  node.addEventListener("input", ({ target }) => target.form?.matches(".settings") && unsaved.add(target.form));
  node.addEventListener("saved", ({ target }) => unsaved.delete(target));
  addEventListener("beforeunload", (event) => unsaved.size && event.preventDefault());
  let filled = null;
  return { node, refresh: ({ live = false } = {}) => ((live && filled) || unsaved.size ? filled : (filled = fill())) };
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
  const status = el("div", { role: "status" });
  const choose = async (goal) => {
    try {
      await save({ goal });
      replace(status, savedTag(`Saved. The goal is now: ${goalLabel(goal)}.`));
    } catch (error) {
      replace(status, note("bad", describe(error)));
    }
  };
  return card(
    "Goal",
    "The goal decides when the study can stop. The policy stays the same. A choice is saved at once.",
    goalChoice(app.choices.goals, app.study.settings.goal ?? "best", choose),
    status,
  );
}

function outcomesField(study, save) {
  const boxes = OPTIONAL_OUTCOMES.map(([value, text]) => [
    value,
    el("input", { type: "checkbox", checked: study.settings.answers.includes(value), onchange: () => store() }),
    text,
  ]);
  const status = el("div", { role: "status" });
  const store = async () => {
    try {
      await save({ answers: boxes.filter(([, box]) => box.checked).map(([value]) => value) });
      replace(status, savedTag());
    } catch (error) {
      replace(status, note("bad", describe(error)));
    }
  };
  return el(
    "fieldset",
    null,
    el("legend", null, "Votes besides left and right (saved at once)"),
    boxes.map(([, box, text]) => el("label", null, box, ` ${text}`)),
    status,
  );
}

function goldCard(app) {
  const list = el("div");
  const status = el("div", { role: "status" });
  const draw = ({ gold }) =>
    replace(
      list,
      gold.length
        ? table(
            "Gold pairs",
            ["first item", "second item", "correct vote", ""],
            gold.map((each) => [
              itemName(each.first),
              itemName(each.second),
              { first: "first", second: "second" }[each.outcome] ?? OUTCOMES[each.outcome],
              button("Remove", () => change("/gold/remove", { first: each.first, second: each.second }), {
                class: "small",
              }),
            ]),
          )
        : el("p", { class: "muted" }, "No gold pairs yet."),
    );
  const exists = async (id) => {
    const { arms } = await get(`${app.base}/arms?limit=1000&search=${encodeURIComponent(id.slice(0, 200))}`);
    return arms.some((each) => each.id === id);
  };
  const change = async (path, body) => {
    try {
      draw(await post(app.base + path, body));
      replace(status);
    } catch (error) {
      let text = describe(error);
      if (error.isA?.("unknown_arm")) {
        const missing = (await exists(body.first)) ? body.second : body.first;
        text = `No item “${missing}” in this study. Check the Items tab.`;
      }
      replace(status, note("bad", text));
    }
  };
  const add = (event) => {
    event.preventDefault();
    const values = new FormData(event.target);
    change("/gold", {
      first: values.get("first").trim(),
      second: values.get("second").trim(),
      outcome: values.get("outcome"),
    });
  };
  const input = (name, label) =>
    el("label", null, label, el("input", { type: "text", name, dir: "auto", required: true, list: "gold-items" }));
  const items = el(
    "datalist",
    { id: "gold-items" },
    itemIds()
      .slice(0, 1000)
      .map((id) => el("option", { value: id }, itemLabel(id))),
  );
  const outcomes = [
    ["first", "first is better"],
    ["second", "second is better"],
    ["tie", "tie"],
    ["both_bad", "both bad"],
  ];
  const form = el(
    "form",
    { class: "row", onsubmit: add },
    input("first", "First item (id)"),
    input("second", "Second item (id)"),
    items,
    el(
      "label",
      null,
      "Correct vote",
      el(
        "select",
        { name: "outcome" },
        outcomes.map(([value, text]) => el("option", { value }, text)),
      ),
    ),
    el("button", { class: "primary" }, "Add"),
  );
  get(`${app.base}/gold`).then(draw, (error) => replace(status, note("bad", describe(error))));
  return card(
    "Gold pairs",
    "Pairs with a known correct vote. Each rater sees each of them once. They measure how reliable the raters are, and do not affect the results.",
    list,
    form,
    status,
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
