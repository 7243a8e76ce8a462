// The buttons to vote with: one row per criterion of the study.
import { speak, append, button, el, find, replace } from "../shared/dom.js";
import { say } from "../shared/sentences.js";
import { isBetter, onLayout, sideName } from "./sides.js";

const OUTCOMES = ["first", "tie", "both_bad", "skip", "second"];
const SIDES = { first: 0, second: 1 };
const OTHERS = { tie: "outcome.tie", both_bad: "outcome.both_bad", skip: "outcome.skip" };
const shortLabel = (outcome) => (outcome in SIDES ? sideName(SIDES[outcome]) : say(OTHERS[outcome]));
const fullLabel = (outcome) => (outcome in SIDES ? isBetter(SIDES[outcome]) : say(OTHERS[outcome]));
const KEYS = { first: "←", tie: "↓", both_bad: "b", skip: "s", second: "→" };
const KEY_NAMES = { ...KEYS, first: "ArrowLeft", tie: "ArrowDown", second: "ArrowRight" };

export class VoteBar {
  #rows = new Map();
  #outcomes = {};
  #active = 0;
  #handlers;

  /** `vote(outcomes)` is called once every criterion has an outcome; a study with a single question has the criterion "". */
  constructor(holder, criteria, offered, { vote, undo, isReady }) {
    this.criteria = criteria.length ? criteria : [""];
    this.offered = OUTCOMES.filter((outcome) => offered.includes(outcome));
    this.#handlers = { vote, isReady };
    const undoButton = button([say("button.undo"), " ", el("kbd", null, "u")], undo, {
      class: "quiet",
      id: "undo",
      "aria-keyshortcuts": "u",
    });
    replace(
      holder,
      this.criteria.map((criterion, k) => this.#row(criterion, k)),
      el(
        "div",
        { class: "below" },
        undoButton,
        el("span", { id: "last-vote", class: "muted" }),
        el("span", { id: "save-status", class: "muted", role: "status" }),
      ),
    );
    onLayout(() => {
      for (const each of holder.querySelectorAll("[data-outcome]"))
        find(".label", each).textContent = (this.#hasSeveral ? shortLabel : fullLabel)(each.dataset.outcome);
    });
  }

  get #hasSeveral() {
    return this.criteria.length > 1;
  }

  #row(criterion, k) {
    const row = el(
      "fieldset",
      { class: "criterion" },
      el(
        "legend",
        { class: criterion ? null : "visually-hidden", dir: "auto", "data-current": ` ← ${say("vote.current")}` }, criterion || say("vote.label")),
      this.offered.map((outcome) =>
        append(
          button(
            el("span", { class: "label" }),
            () => {
              this.#active = k;
              this.choose(outcome);
            },
            {
              class: `${outcome} ${["first", "second"].includes(outcome) ? "large" : ""}`,
              "data-outcome": outcome,
              "aria-pressed": "false",
              "aria-keyshortcuts": KEY_NAMES[outcome],
            },
          ),
          " ",
          el("kbd", { "aria-hidden": "true" }, KEYS[outcome]),
        ),
      ),
    );
    this.#rows.set(criterion, row);
    return row;
  }

  /** Clear all outcomes for a new pair. */
  reset() {
    this.#outcomes = {};
    this.#active = 0;
    this.#render();
  }

  /** Highlight the outcomes of an earlier vote, for the rater to change. */
  restore(outcomes) {
    this.#outcomes = this.#hasSeveral ? { ...outcomes } : {};
    this.#render();
    if (this.#hasSeveral) delete this.#outcomes[this.criteria.at(-1)];
    else find(`[data-outcome="${outcomes[""]}"]`, this.#rows.get(""))?.setAttribute("aria-pressed", "true");
  }

  /** Show what was chosen last, beside Undo, so that an accidental click or tap is noticed. */
  showLast(outcomes) {
    const names = Object.values(outcomes ?? {}).map(shortLabel).join(", ");
    find("#last-vote").textContent = names && say("vote.given", { outcome: names });
  }

  /** Show Undo only while there is something to undo. */
  allowUndo(isPossible) {
    find("#undo").hidden = !isPossible;
  }

  /** Hide the vote buttons; Undo stays. */
  hideButtons() {
    for (const row of this.#rows.values()) row.hidden = true;
  }

  choose(outcome) {
    if (!this.offered.includes(outcome) || !this.#handlers.isReady()) return;
    const isOpen = (criterion) => !(criterion in this.#outcomes);
    // Skipping a pair skips all its remaining criteria.
    if (outcome === "skip") for (const criterion of this.criteria.filter(isOpen)) this.#outcomes[criterion] = "skip";
    this.#outcomes[this.criteria[this.#active]] = outcome;
    const next = this.criteria.findIndex(isOpen);
    if (next < 0) {
      speak(say("vote.given", { outcome: shortLabel(outcome) }));
      this.#handlers.vote(this.#outcomes);
      return;
    }
    this.#active = next;
    this.#render();
    speak(say("vote.next", { outcome: shortLabel(outcome), criterion: this.criteria[next] }));
  }

  #render() {
    this.criteria.forEach((criterion, k) => {
      const row = this.#rows.get(criterion);
      row.hidden = false;
      row.classList.toggle("active", this.#hasSeveral && k === this.#active);
      for (const each of row.querySelectorAll("[data-outcome]"))
        each.setAttribute("aria-pressed", String(this.#outcomes[criterion] === each.dataset.outcome));
    });
  }
}
