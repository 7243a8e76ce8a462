// The Flow card of the Settings tab: what raters see around the pairs, with a live preview of the same screens.
import { laterScreens } from "../../rater/flow/between.js";
import { applyAppearance, screensOf } from "../../rater/flow/intro.js";
import { button, card, el, note, replace, speak } from "../../shared/dom.js";
import { createField, savedTag } from "../forms.js";
import { describe } from "../messages.js";
import { pairPreview } from "./flow-preview.js";

const QUESTION = [
  { name: "name", label: "Name of the attribute", kind: "text", help: "A letter, then letters, digits, - or _. Analyses and exports use it." },
  { name: "text", label: "Question", kind: "text" },
  { name: "kind", label: "Answer", kind: "select", options: [["text", "Text"], ["number", "Number"], ["choice", "Choice"], ["scale", "Scale"]] },
  { name: "options", label: "Options of a choice, one per line", kind: "lines" },
  { name: "accept", label: "Eligible options, one per line", kind: "lines", help: "Empty: all. Raters who choose another one are screened out." },
  { name: "quotas", label: "Quotas, one per line", kind: "lines", placeholder: "option = 50", help: "Raters beyond the quota of their option find the study full." },
  { name: "steps", label: "Steps of a scale", kind: "number", min: 2, max: 11 },
  { name: "low", label: "Lowest step means", kind: "text" },
  { name: "high", label: "Highest step means", kind: "text" },
  { name: "required", label: "Required", kind: "check" },
];
const PAIR = [
  { name: "first", label: "Left", kind: "long", rows: 2 },
  { name: "second", label: "Right", kind: "long", rows: 2 },
  { name: "outcome", label: "Expected", kind: "select", options: [["first", "Left"], ["second", "Right"], ["tie", "Tie"], ["both_bad", "Both bad"]] },
  { name: "explanation", label: "Why", kind: "text" },
];
const NEW_QUESTION = { name: "", text: "", kind: "text", options: [], accept: [], quotas: [], steps: 5, required: true };
const NEW_PAIR = { first: "", second: "", outcome: "first" };
const LARGEST_LOGO = 100_000;
const SCREENS = { welcome: ["welcome", "consent"], consent: ["consent"], version: ["consent"], break_every: ["break"], thanks: ["thanks"], reasons: ["pair"], reason_required: ["pair"] };
let ids = 0;

/** Fields with their own ids, so that several of a name can be on the page. */
function fieldsOf(specs, values) {
  ids += 1;
  const made = specs.map((spec) => ({ ...createField({ ...spec, name: `flow${ids}-${spec.name}` }, values[spec.name]), name: spec.name }));
  return { nodes: made.map((each) => each.node), read: () => Object.fromEntries(made.map((each) => [each.name, each.read()])) };
}

/** A list of parts with buttons to add and remove them. */
function partList(specs, values, empty, noun, onChange) {
  const rows = [];
  const list = el("div");
  const draw = () => replace(list, rows.map((row) => row.node));
  const add = (value) => {
    const fields = fieldsOf(specs, value);
    const row = { read: fields.read };
    const remove = button(`Remove this ${noun}`, () => (rows.splice(rows.indexOf(row), 1), draw(), onChange()), { class: "small" });
    row.node = el("fieldset", null, el("legend", null, `${noun[0].toUpperCase()}${noun.slice(1)}`), fields.nodes, remove);
    rows.push(row);
    draw();
  };
  values.forEach(add);
  const more = button(`Add a ${noun}`, () => (add(empty), onChange()), { class: "small" });
  return { node: el("div", null, list, el("p", null, more)), read: () => rows.map((row) => row.read()) };
}

const quotaLines = (quotas) => Object.entries(quotas).map(([option, count]) => `${option} = ${count}`);
const quotasOf = (lines) => Object.fromEntries(lines.map((line) => [line.slice(0, line.lastIndexOf("=")).trim(), Number(line.slice(line.lastIndexOf("=") + 1))]));
const questionOf = ({ options, accept, quotas, steps, kind, ...rest }) => ({
  ...rest,
  kind,
  options: kind === "choice" ? options : [],
  accept: kind === "choice" ? accept : [],
  quotas: kind === "choice" ? quotasOf(quotas) : {},
  steps: steps ?? 5,
});
const pairFrom = ({ explanation, ...rest }) => ({ ...rest, first: rest.first ?? "", second: rest.second ?? "", explanation });

function logoField(logo, onChange) {
  let value = logo;
  const shown = el("span");
  const draw = () =>
    replace(shown, value && [el("img", { class: "logo", src: value, alt: "Logo" }), button("Remove the logo", () => ((value = null), draw(), onChange()), { class: "small" })]);
  const problem = el("div", { role: "alert" });
  const choose = (event) => {
    const [file] = event.target.files;
    replace(problem, file?.size > LARGEST_LOGO && note("bad", "The logo may have at most 100 kB."));
    if (!file || file.size > LARGEST_LOGO) return;
    const reader = new FileReader();
    reader.addEventListener("load", () => ((value = reader.result), draw(), onChange()));
    reader.readAsDataURL(file);
  };
  draw();
  return {
    node: el("div", { class: "field" }, el("label", null, "Logo (PNG, JPEG or WebP) ", el("input", { type: "file", accept: "image/png,image/jpeg,image/webp", onchange: choose })), shown, problem),
    read: () => value,
  };
}

export function flowCard(app, save) {
  const { flow } = app.study.settings;
  const status = el("div", { role: "status" });
  const preview = el("div", { class: "flow-preview" });
  const screens = el("select", { "aria-label": "Screen of the preview", onchange: () => drawPreview() });
  const changed = ({ target }) => {
    replace(status, el("span", { class: "tag warn" }, "Not saved yet"));
    drawPreview(SCREENS[target.name?.replace(/^flow\d+-/, "")] ?? [target.closest("details")?.dataset.screen]);
  };
  const touched = () => form.dispatchEvent(new Event("input", { bubbles: true })); // by a button, as by typing
  const texts = fieldsOf(
    [
      { name: "welcome", label: "Welcome (Markdown)", kind: "long" },
      { name: "consent", label: "Consent form (Markdown)", kind: "long", help: "Raters have to agree before the first pair. Time and version are recorded." },
      { name: "version", label: "Version of the consent form", kind: "text", placeholder: "made from the text", help: "After a new version, raters are asked again." },
    ],
    { welcome: flow.welcome, consent: flow.consent?.text, version: flow.consent?.version },
  );
  const questions = partList(QUESTION, flow.questions.map((each) => ({ ...each, quotas: quotaLines(each.quotas) })), NEW_QUESTION, "question", touched);
  const examples = partList(PAIR, flow.examples, NEW_PAIR, "worked example", touched);
  const practice = partList(PAIR, flow.practice, NEW_PAIR, "practice pair", touched);
  const others = fieldsOf(
    [
      { name: "break_every", label: "Votes between suggested breaks", kind: "number", min: 1, placeholder: "never" },
      { name: "reasons", label: "Reasons to click, one per line", kind: "lines", help: "With “Ask for a reason” above." },
      { name: "reason_required", label: "A vote needs a reason", kind: "check" },
      { name: "thanks", label: "Thanks at the end (Markdown)", kind: "long", rows: 2 },
      { name: "name", label: "Name on the rater page", kind: "text", placeholder: "the study's name" },
      { name: "color", label: "Color of buttons", kind: "text", placeholder: "#2746b0" },
    ],
    { ...flow, ...flow.appearance },
  );
  const logo = logoField(flow.appearance.logo, touched);
  const rules = fieldsOf(
    [
      { name: "failed_gold", label: "Wrong votes on gold pairs", kind: "number", min: 1, placeholder: "any number" },
      { name: "min_seconds", label: "Minimum seconds per vote", kind: "number", min: 0, step: "any", placeholder: "none", help: "Excludes raters half of whose votes are faster." },
      { name: "one_side", label: "Share of votes for the same side", kind: "number", min: 0.5, max: 1, step: "any", placeholder: "any share" },
      { name: "after", label: "Votes before the last two rules apply", kind: "number", min: 1 },
    ],
    flow.exclusion,
  );
  const read = () => {
    const { consent, version, welcome } = texts.read();
    const { name, color, ...rest } = others.read();
    return {
      welcome,
      consent: consent && { text: consent, version },
      questions: questions.read().map(questionOf),
      examples: examples.read().map(pairFrom),
      practice: practice.read().map(pairFrom),
      ...rest,
      exclusion: { ...rules.read(), after: rules.read().after ?? 20 },
      appearance: { name, logo: logo.read(), color: color?.toLowerCase() ?? null },
    };
  };
  const shownFlow = () => {
    const now = read();
    const isWhole = ({ first, second }) => first && second;
    return { ...now, questions: now.questions.filter((each) => each.text), examples: now.examples.filter(isWhole), practice: now.practice.filter(isWhole) };
  };
  /** Draw the screen that is edited, if it is one of these names; otherwise the one that is chosen. */
  function drawPreview(edited = []) {
    const now = shownFlow();
    const first = now.consent ? "consent" : now.questions.length ? "questions" : now.practice.length ? "practice" : null;
    const answers = ["first", "second", ...app.study.settings.answers];
    const found = [...screensOf({ flow: now, step: first, answers }, false), ["pair", () => pairPreview(now, app.study, answers)], ...laterScreens(now)];
    const chosen = found.find(([name]) => edited.includes(name)) ?? found.find(([name]) => name === screens.value) ?? found[0];
    replace(screens, found.map(([name]) => el("option", { value: name, selected: name === chosen[0] }, name)));
    const next = () => {
      screens.value = (found[found.indexOf(chosen) + 1] ?? found[0])[0];
      drawPreview();
    };
    frame.show(chosen[1](next), now.appearance, app.study.name);
  }
  const frame = shadowFrame(preview);
  const form = el(
    "form",
    { class: "settings", novalidate: true, oninput: changed, onchange: changed },
    el("details", { open: true }, el("summary", null, "Welcome and consent"), texts.nodes),
    el("details", { "data-screen": "questions" }, el("summary", null, "Questionnaire"), questions.node),
    el("details", { "data-screen": "examples" }, el("summary", null, "Worked examples"), examples.node),
    el("details", { "data-screen": "practice" }, el("summary", null, "Practice pairs with feedback"), practice.node),
    el("details", null, el("summary", null, "Reasons, breaks, thanks, appearance"), others.nodes, logo.node),
    el("details", null, el("summary", null, "Automatic exclusion"), el("p", { class: "muted" }, "Raters who break a rule are blocked and their votes excluded. Reinstate them in the tab Raters."), rules.nodes),
    el("p", null, el("button", { class: "primary" }, "Save")),
    status,
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await save({ flow: read() });
      form.dispatchEvent(new Event("saved", { bubbles: true }));
      replace(status, savedTag());
      speak("Saved.");
    } catch (error) {
      replace(status, note("bad", describe(error)));
    }
  });
  drawPreview();
  const node = card(
    "Around the pairs",
    "What raters see before, between and after the pairs. Every part is optional; empty parts are not shown.",
    form,
    el("h3", null, "Preview as a rater sees it"),
    el("p", null, el("label", null, "Screen ", screens)),
    preview,
  );
  node.classList.add("wide");
  return node;
}

/** A frame with the styles of the rater page only. */
function shadowFrame(holder) {
  const root = holder.attachShadow({ mode: "open" });
  const body = el("div", { class: "rate" });
  const link = (href) => el("link", { rel: "stylesheet", href });
  root.append(link("/assets/shared/base.css"), link("/assets/rater/rate.css"), body);
  return {
    show(node, { name, logo, color }, study) {
      const header = el("header", { class: "top" }, el("h1", { class: "grow", dir: "auto" }, study));
      replace(body, header, el("div", { class: "card", id: "message" }, node));
      const isColor = /^#[0-9a-f]{6}$/.test(color ?? "");
      applyAppearance({ name, logo, color: isColor ? color : null }, header, body);
    },
  };
}
