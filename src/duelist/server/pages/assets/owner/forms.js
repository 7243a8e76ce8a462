// Forms for settings. Each field has a label and an explanation; only changed values are sent.
import { speak, el, note, replace } from "../shared/dom.js";
import { describe } from "./messages.js";

const READERS = {
  text: (input) => input.value.trim() || null,
  long: (input) => input.value.trim() || null,
  number: (input) => (input.value === "" ? null : Number(input.value)),
  lines: (input) => splitLines(input.value),
  check: (input) => input.checked,
  select: (input) => input.value,
  checks: (input) => [...input.querySelectorAll("input:checked")].map((each) => each.value),
};

/** The lines of a text, without blank ones. */
export const splitLines = (text) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

/** One field from `{ name, label, kind, help, invalid, ... }` and its present value. */
export function createField(spec, value) {
  const id = `field-${spec.name}`;
  const common = { id, name: spec.name, "aria-describedby": spec.help ? `${id}-help` : null, required: spec.required };
  const help = spec.help && el("small", { id: `${id}-help`, class: "muted" }, spec.help);
  const text = { dir: "auto", placeholder: spec.placeholder };
  const inputs = {
    text: () => el("input", { ...common, ...text, type: "text", value: value ?? "" }),
    long: () => el("textarea", { ...common, ...text, rows: spec.rows ?? 4 }, value ?? ""),
    lines: () => el("textarea", { ...common, ...text, rows: spec.rows ?? 3 }, (value ?? []).join("\n")),
    number: () =>
      el("input", {
        ...common,
        type: "number",
        value: value ?? "",
        min: spec.min,
        max: spec.max,
        step: spec.step ?? 1,
        placeholder: spec.placeholder ?? "no limit",
      }),
    check: () => el("input", { ...common, type: "checkbox", checked: value }),
    select: () =>
      el(
        "select",
        common,
        spec.options.map(([option, label]) => el("option", { value: option, selected: option === value }, label)),
      ),
  };
  if (spec.kind === "checks") {
    const box = (option, label) =>
      el("label", null, el("input", { type: "checkbox", value: option, checked: value.includes(option) }), ` ${label}`);
    const set = el("fieldset", null, el("legend", null, spec.label), spec.options.map((each) => box(...each)), help);
    return { spec, node: set, input: set, read: () => READERS.checks(set) };
  }
  const input = inputs[spec.kind]();
  const node =
    spec.kind === "check"
      ? el("div", { class: "field" }, el("label", null, input, ` ${spec.label}`), help)
      : el("div", { class: "field" }, el("label", { for: id }, spec.label), input, help);
  return { spec, node, input, read: () => (spec.read ?? READERS[spec.kind])(input) };
}

/** A form with a Save button; `save(changes)` is called with the values that were changed. */
export const settingsForm = (specs, values, save) =>
  formOf(
    specs.map((spec) => createField(spec, values[spec.name])),
    save,
  );

/** Whether a form inside a node has changes that are not saved. */
export const hasUnsaved = (node) => node.querySelector("[data-unsaved]") !== null;

/** A form of fields `{ node, spec, read }`. Until its changes are saved it says so. */
export function formOf(fields, save) {
  const snapshot = () => new Map(fields.map((each) => [each, JSON.stringify(each.read())]));
  let saved = snapshot();
  const status = el("div", { role: "status" });
  const changedFields = () => fields.filter((each) => JSON.stringify(each.read()) !== saved.get(each));
  const onChange = () => {
    form.toggleAttribute("data-unsaved", changedFields().length > 0);
    replace(status, hasUnsavedChanges() && el("span", { class: "tag warn" }, "Not saved yet"));
  };
  const hasUnsavedChanges = () => form.hasAttribute("data-unsaved");
  const onsubmit = async (event) => {
    event.preventDefault();
    const changed = changedFields();
    for (const each of fields) each.input?.removeAttribute("aria-invalid");
    if (!changed.length) return replace(status, el("p", null, "Nothing to save."));
    try {
      await save(Object.fromEntries(changed.map((each) => [each.spec.name, each.read()])));
      saved = snapshot();
      form.removeAttribute("data-unsaved");
      event.target.dispatchEvent(new Event("saved", { bubbles: true }));
      replace(status, savedTag());
      speak("Saved.");
    } catch (error) {
      const name = error.field?.split(".").at(-1);
      const invalid = fields.find(({ spec }) => spec.name === name);
      invalid?.input?.setAttribute("aria-invalid", "true");
      invalid?.input?.focus();
      replace(
        status,
        note("bad", invalid ? `${invalid.spec.label}: ${invalid.spec.invalid ?? describe(error)}` : describe(error)),
      );
    }
    return null;
  };
  const form = el(
    "form",
    { class: "settings", novalidate: true, "data-tracked": true, onsubmit, oninput: onChange, onchange: onChange },
    fields.map((each) => each.node),
    el("p", null, el("button", { class: "primary" }, "Save")),
    status,
  );
  return form;
}

export const savedTag = (text = "Saved.") => el("span", { class: "tag good" }, text);

/** Radio buttons, each with an explanation. */
export function radioGroup(name, legend, options, value, onchange) {
  return el(
    "fieldset",
    null,
    el("legend", null, legend),
    options.map((each) =>
      el(
        "div",
        { class: "choice" },
        el("input", {
          type: "radio",
          name,
          id: `${name}-${each.value}`,
          value: each.value,
          checked: each.value === value,
          disabled: each.disabled,
          "aria-describedby": `${name}-${each.value}-help`,
          onchange: () => onchange(each.value),
        }),
        el("label", { for: `${name}-${each.value}` }, each.label),
        el("small", { id: `${name}-${each.value}-help`, class: "muted" }, each.help),
      ),
    ),
  );
}

/** Settings of the rater page, for new and existing studies. */
export const RATER_PAGE_SETTINGS = [
  {
    name: "question",
    label: "Question",
    kind: "text",
    placeholder: "Which is better?",
    help: "Shown above each pair.",
  },
  {
    name: "guidelines",
    label: "Guidelines",
    kind: "long",
    help: "Markdown. Shown before the first pair, and whenever the rater opens them.",
  },
  {
    name: "show_as",
    label: "Show texts as",
    kind: "select",
    options: [
      ["text", "plain text"],
      ["markdown", "Markdown"],
      ["code", "code"],
    ],
  },
  { name: "ask_reason", label: "Let raters give a reason for their vote", kind: "check" },
];

/** The setting of the rater page's language. */
export const languageSetting = (languages) => ({
  name: "language",
  label: "Language of the page",
  kind: "select",
  help: "The texts of your study stay in the language in which you write them.",
  options: [["", "the language of each browser"], ...languages.map(({ code, name }) => [code, name])],
  read: (input) => input.value || null,
});

const GOALS = {
  best: {
    label: "Find the best item",
    help: "Find one winner with as few votes as possible. Weak items may be shown along the way.",
  },
  rank: {
    label: "Rank all items",
    help: "Find the order of the items, not only the winner, with as few votes as possible.",
  },
  learn: {
    label: "Train a preference model",
    help: "Collect votes that teach a model which of any two items people prefer.",
  },
  serve: {
    label: "Show good items while learning",
    help: "For live use: show people good items in every pair, while you learn which ones are best.",
  },
};

export const goalLabel = (goal) => GOALS[goal]?.label ?? goal ?? "–";

export const goalChoice = (goals, value, onchange) =>
  radioGroup(
    "goal",
    "What do you want to learn?",
    goals.map(({ name, when }) => ({ value: name, label: goalLabel(name), help: GOALS[name]?.help ?? when })),
    value,
    onchange,
  );

/** Names of the outcomes on the owner's pages. */
export const OUTCOMES = { first: "left", second: "right", tie: "tie", both_bad: "both bad", skip: "skipped" };

/** States of a study, as a word and the color of its tag. */
export const STATES = {
  open: ["open", "good"],
  paused: ["paused", "warn"],
  ended: ["ended", "warn"],
  archived: ["archived", "warn"],
};
