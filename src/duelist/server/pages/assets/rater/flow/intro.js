// What comes before the first pair: welcome and consent, questionnaire, examples, practice. Owners see the same screens as a preview.
import { button, el, note, replace } from "../../shared/dom.js";
import { markdown } from "../../shared/markdown.js";
import { say } from "../../shared/sentences.js";
import { isBetter, sideName } from "../sides.js";

const SIDES = { first: 0, second: 1 };
const KEYS = { ArrowLeft: "first", ArrowRight: "second", ArrowDown: "tie" };
const nameOf = (outcome) => (outcome in SIDES ? isBetter(SIDES[outcome]) : say(`outcome.${outcome}`));
const text = (source) => el("div", { class: "content", dir: "auto" }, markdown(source));
const screen = (title, ...content) => el("section", { class: "intro", tabindex: -1 }, title && el("h2", null, title), ...content);
const primary = (label, onclick) => button(label, onclick, { class: "primary" });

/** The screens that a rater has to see: [name, build(done)], where `done(body)` is called at the end of each. */
export function screensOf({ flow, step, answers }, isWelcomed) {
  const order = ["consent", "questions", "practice", null];
  const isOpen = (name) => step !== null && order.indexOf(step) <= order.indexOf(name);
  return [
    flow.consent && isOpen("consent") && ["consent", (done) => consentScreen(flow, done)],
    flow.welcome && !flow.consent && !isWelcomed && ["welcome", (done) => welcomeScreen(flow, done)],
    flow.questions.length > 0 && isOpen("questions") && ["questions", (done) => questionsScreen(flow, done)],
    flow.examples.length > 0 && !isWelcomed && ["examples", (done) => examplesScreen(flow, done)],
    flow.practice.length > 0 && isOpen("practice") && ["practice", (done) => practiceScreen(flow, answers, done)],
  ].filter(Boolean);
}

const welcomeScreen = (flow, done) =>
  screen(null, text(flow.welcome), el("p", { class: "buttons" }, primary(say("step.continue"), () => done({}))));

const consentScreen = ({ welcome, consent }, done) =>
  screen(
    null,
    welcome && text(welcome),
    text(consent.text),
    el(
      "p",
      { class: "buttons" },
      button(say("consent.decline"), () => done({ version: consent.version, agrees: false })),
      primary(say("consent.agree"), () => done({ version: consent.version })),
    ),
  );

function questionsScreen({ questions }, done) {
  const problem = el("div", { role: "alert" });
  const read = ({ name, kind }) => {
    const value = String(new FormData(form).get(name) ?? "").trim();
    if (value === "") return null;
    return kind === "number" || kind === "scale" ? Number(value) : value;
  };
  const submit = (event) => {
    event.preventDefault();
    const open = questions.find((each) => each.required && read(each) === null);
    replace(problem, open && note("bad", say("questions.open")));
    if (open) form.querySelector(`[name="${open.name}"]`).focus();
    else done({ answers: Object.fromEntries(questions.map((each) => [each.name, read(each)])) });
  };
  const form = el(
    "form",
    { class: "questions", novalidate: true, onsubmit: submit },
    questions.map(questionField),
    problem,
    el("p", { class: "buttons" }, el("button", { class: "primary" }, say("step.continue"))),
  );
  return screen(say("questions.title"), form);
}

function questionField({ name, text: label, kind, options, required, steps, low, high }) {
  const shown = [el("span", { dir: "auto" }, label), !required && el("small", null, ` ${say("questions.optional")}`)];
  if (kind === "text" || kind === "number")
    return el("label", null, shown, el("input", { name, type: kind, step: "any", required, maxlength: 500, dir: "auto" }));
  const choice = (value, caption) =>
    el("label", { class: "option" }, el("input", { type: "radio", name, value, required }), " ", el("span", { dir: "auto" }, caption));
  const values = kind === "choice" ? options : Array.from({ length: steps }, (_, k) => k + 1);
  return el(
    "fieldset",
    { class: kind },
    el("legend", null, shown),
    low && el("small", { dir: "auto" }, low),
    values.map((value) => choice(value, value)),
    high && el("small", { dir: "auto" }, high),
  );
}

const pairOf = (pair, attributes = () => ({})) =>
  el(
    "div",
    { class: "pair" },
    ["first", "second"].map((side) =>
      el("article", { class: `card side ${side}`, ...attributes(side) }, el("h3", null, sideName(SIDES[side])), text(pair[side])),
    ),
  );

const examplesScreen = ({ examples }, done) =>
  screen(
    say("examples.title"),
    examples.map((each) =>
      el("div", { class: "example" }, pairOf(each), el("p", null, el("strong", null, nameOf(each.outcome))), each.explanation && text(each.explanation)),
    ),
    el("p", { class: "buttons" }, primary(say("step.continue"), () => done({}))),
  );

function practiceScreen({ practice }, answers, done) {
  const holder = screen(say("practice.title"));
  const offered = answers.filter((each) => each !== "skip");
  const ask = (k) => {
    const pair = practice[k];
    const feedback = el("div", { role: "status" });
    const choose = (outcome) => {
      if (!offered.includes(outcome) || feedback.hasChildNodes()) return;
      const isRight = outcome === pair.outcome;
      const said = isRight ? say("practice.right") : say("practice.wrong", { outcome: nameOf(pair.outcome) });
      const next = primary(say("step.continue"), () => (k + 1 < practice.length ? ask(k + 1) : done({})));
      replace(feedback, note(isRight ? "good" : "warn", said, pair.explanation && text(pair.explanation)), el("p", { class: "buttons" }, next));
      for (const each of holder.querySelectorAll(".criterion button")) each.disabled = true;
      next.focus();
    };
    replace(
      holder,
      el("h2", null, say("practice.title")),
      el("p", { class: "muted" }, say("practice.text"), " ", say("practice.progress", { done: k + 1, count: practice.length })),
      pairOf(pair, (side) => ({ onclick: () => choose(side) })),
      el(
        "div",
        { class: "criterion" },
        ["first", "tie", "both_bad", "second"].filter((each) => offered.includes(each)).map((each) => button(nameOf(each), () => choose(each), { class: each, "data-practice": each })),
      ),
      feedback,
    );
    holder.onkeydown = (event) => {
      if (event.key in KEYS && !event.target.closest("input, textarea")) choose(KEYS[event.key]);
    };
    holder.focus({ preventScroll: true });
  };
  ask(0);
  return holder;
}

/** Take the steps one after the other; `show(node)` shows a screen, `send(name, body)` stores its result. False if one ends participation. */
export async function takeSteps(profile, isWelcomed, { show, send }) {
  for (const [name, build] of screensOf(profile, isWelcomed)) {
    await new Promise((resolve) => {
      let isSending = false;
      const problem = el("div", { role: "alert" });
      const finish = async (body) => {
        if (isSending) return;
        isSending = true;
        try {
          await send(name, body);
          resolve();
        } catch (error) {
          replace(problem, note("bad", error.forRater ?? say("error.other")));
          isSending = false;
        }
      };
      const node = build(finish);
      show(node, problem);
      node.focus({ preventScroll: true }); // screen readers read on from here
      scrollTo({ top: 0 });
    });
    if (name === "consent" || name === "questions") {
      if (await profile.hasEnded()) return false;
    }
  }
  return true;
}

/** Name, logo and color of the study. */
export function applyAppearance({ name, logo, color }, header, root) {
  if (color) {
    root.style.setProperty("--brand", color);
    root.style.setProperty("--on-brand", isDark(color) ? "#ffffff" : "#101010");
  }
  header.querySelector(".logo")?.remove();
  if (logo) header.prepend(el("img", { class: "logo", src: logo, alt: "" }));
  if (name) header.querySelector("h1").textContent = name;
}

/** Whether white text is readable on a color, by its relative luminance (WCAG). */
export function isDark(color) {
  const [r, g, b] = [1, 3, 5].map((k) => {
    const value = parseInt(color.slice(k, k + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 1.05 / (0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05) >= 4.5;
}
