// Forms of settings: a field each with a sentence on what it does; only what was changed is sent.
import { sentenceOf } from "../shared/api.js";
import { announce, el, replace } from "../shared/dom.js";

const READ = {
  text: (input) => input.value.trim() || null,
  long: (input) => input.value.trim() || null,
  number: (input) => (input.value === "" ? null : Number(input.value)),
  lines: (input) =>
    input.value
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean),
  check: (input) => input.checked,
  select: (input) => input.value,
};

/** One field: {name, label, kind, help?, min?, max?, step?, options?, required?} with its present value. */
export function field(spec, value) {
  const id = `field-${spec.name}`;
  const common = { id, name: spec.name, "aria-describedby": spec.help ? `${id}-help` : null, required: spec.required };
  const help = spec.help && el("small", { id: `${id}-help`, class: "muted" }, spec.help);
  const texts = { dir: "auto", placeholder: spec.placeholder };
  const inputs = {
    text: () => el("input", { ...common, ...texts, type: "text", value: value ?? "" }),
    long: () => el("textarea", { ...common, ...texts, rows: spec.rows ?? 4 }, value ?? ""),
    lines: () => el("textarea", { ...common, ...texts, rows: spec.rows ?? 3 }, (value ?? []).join("\n")),
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
        spec.options.map(([option, text]) => el("option", { value: option, selected: option === value }, text)),
      ),
  };
  const input = inputs[spec.kind]();
  const node =
    spec.kind === "check"
      ? el("div", { class: "field" }, el("label", null, input, ` ${spec.label}`), help)
      : el("div", { class: "field" }, el("label", { for: id }, spec.label), input, help);
  return { spec, node, input, read: () => (spec.read ?? READ[spec.kind])(input) };
}

/** A group of fields with a button; `save(changed)` gets those that are not what they were. */
export function settingsForm(specs, values, save, { verb = "Save", saved = "Saved." } = {}) {
  const fields = specs.map((spec) => field(spec, values[spec.name]));
  let before = new Map(fields.map((each) => [each, JSON.stringify(each.read())]));
  const said = el("p", { role: "status" });
  const onsubmit = async (event) => {
    event.preventDefault();
    const changed = fields.filter((each) => JSON.stringify(each.read()) !== before.get(each));
    for (const each of fields) each.input.removeAttribute("aria-invalid");
    if (!changed.length) return replace(said, "Nothing has changed.");
    try {
      await save(Object.fromEntries(changed.map((each) => [each.spec.name, each.read()])));
      before = new Map(fields.map((each) => [each, JSON.stringify(each.read())]));
      replace(said, el("span", { class: "tag good" }, saved));
      announce(saved);
    } catch (error) {
      const wrong = fields.find(
        ({ spec }) => error.field?.split(".").at(-1) === spec.name || sentenceOf(error).startsWith(`${spec.name} `),
      );
      wrong?.input.setAttribute("aria-invalid", "true");
      wrong?.input.focus();
      const text = wrong ? sentenceOf(error).replaceAll(wrong.spec.name, `“${wrong.spec.label}”`) : sentenceOf(error);
      replace(said, el("span", { class: "note bad" }, text));
    }
    return null;
  };
  return el(
    "form",
    { class: "settings", novalidate: true, onsubmit },
    fields.map((each) => each.node),
    el("p", null, el("button", { class: "primary" }, verb)),
    said,
  );
}

/** One of several, each with a sentence of advice. */
export function choices(name, legend, options, value, onchange) {
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

/** What raters see and how they are asked, wherever a study is made or changed. */
export const RATERS_SEE = [
  { name: "question", label: "Question above the pair", kind: "text", placeholder: "Which is better?" },
  {
    name: "guidelines",
    label: "Guidelines",
    kind: "long",
    help: "Markdown. Shown once before the first pair, and whenever a rater wants them.",
  },
  {
    name: "show_as",
    label: "Texts are shown as",
    kind: "select",
    options: [
      ["text", "plain text"],
      ["markdown", "Markdown"],
      ["code", "code"],
    ],
  },
  { name: "ask_reason", label: "Offer a field for the reason of a vote", kind: "check" },
];

export const GOAL_NAMES = {
  best: "Find the best",
  rank: "Rank them",
  learn: "Teach a model",
  serve: "Show good ones while learning",
};

export const goalChoices = (goals, value, onchange) =>
  choices(
    "goal",
    "What is the study for?",
    goals.map((goal) => ({ value: goal.name, label: GOAL_NAMES[goal.name] ?? goal.name, help: goal.when })),
    value,
    onchange,
  );
