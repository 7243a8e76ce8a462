// The bar of answers: one row for each question that the study asks about a pair.
import { announce, append, button, el, find, replace } from "../shared/dom.js";

const WORDS = { first: "Left", tie: "Tie", both_bad: "Both bad", skip: "Skip", second: "Right" };
const LONG = { first: "Left is better", tie: "Tie", both_bad: "Both bad", skip: "Skip", second: "Right is better" };
const KEYS = { first: "←", tie: "↓", both_bad: "b", skip: "s", second: "→" };

export class Answers {
  #rows = new Map();
  #given = {};
  #active = 0;
  #on;

  /** `on.vote(outcomes)` is called when every question has its answer (by criterion, "" where there is one question), if `on.ready()`. */
  constructor(holder, criteria, offered, on) {
    this.questions = criteria.length ? criteria : [""];
    this.offered = Object.keys(WORDS).filter((outcome) => offered.includes(outcome));
    this.#on = on;
    this.undo = button(["Undo ", el("kbd", null, "u")], () => on.undo(), {
      class: "quiet",
      id: "undo",
      "aria-keyshortcuts": "u",
    });
    replace(
      holder,
      this.questions.map((question, k) => this.#row(question, k)),
      el("div", { class: "below" }, this.undo, el("span", { id: "sent", class: "muted", role: "status" })),
    );
  }

  #row(question, k) {
    const row = el(
      "fieldset",
      { class: "criterion" },
      el("legend", { class: question ? null : "unseen", dir: "auto" }, question || "Your answer"),
      this.offered.map((outcome) =>
        append(
          button(
            this.questions.length > 1 ? WORDS[outcome] : LONG[outcome],
            () => {
              this.#active = k;
              this.choose(outcome);
            },
            {
              class: `${outcome} ${["first", "second"].includes(outcome) ? "large" : ""}`,
              "data-outcome": outcome,
              "aria-pressed": "false",
              "aria-keyshortcuts":
                { first: "ArrowLeft", second: "ArrowRight", tie: "ArrowDown" }[outcome] ?? KEYS[outcome],
            },
          ),
          " ",
          el("kbd", { "aria-hidden": "true" }, KEYS[outcome]),
        ),
      ),
    );
    this.#rows.set(question, row);
    return row;
  }

  begin() {
    this.#given = {};
    this.#active = 0;
    this.#show();
  }

  /** Mark what was answered before, without giving it again. */
  recall(outcomes) {
    this.#given = this.questions.length > 1 ? { ...outcomes } : {};
    this.#show();
    if (this.questions.length === 1)
      find(`[data-outcome="${outcomes[""]}"]`, this.#rows.get(""))?.setAttribute("aria-pressed", "true");
    if (this.questions.length > 1) delete this.#given[this.questions.at(-1)];
  }

  rest() {
    for (const row of this.#rows.values()) row.hidden = true;
  }

  choose(outcome) {
    if (!this.offered.includes(outcome) || !this.#on.ready()) return;
    const left = this.questions.filter((question) => !(question in this.#given));
    // Who skips a pair skips all that was not answered yet.
    if (outcome === "skip") for (const question of left) this.#given[question] = "skip";
    this.#given[this.questions[this.#active]] = outcome;
    const open = this.questions.findIndex((question) => !(question in this.#given));
    if (open < 0) {
      const outcomes = this.#given;
      announce(`${WORDS[outcome]}.`);
      this.#on.vote(outcomes);
      return;
    }
    this.#active = open;
    this.#show();
    announce(`${WORDS[outcome]}. Next: ${this.questions[open]}.`);
  }

  #show() {
    this.questions.forEach((question, k) => {
      const row = this.#rows.get(question);
      row.hidden = false;
      row.classList.toggle("active", this.questions.length > 1 && k === this.#active);
      for (const each of row.querySelectorAll("[data-outcome]"))
        each.setAttribute("aria-pressed", String(this.#given[question] === each.dataset.outcome));
    });
  }
}
