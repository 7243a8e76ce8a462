// A panel of the dashboard: a title, a sentence that says what it shows, and what is read from the server, drawn anew when it changes.
import { reading, sentenceOf } from "../shared/api.js";
import { el, replace } from "../shared/dom.js";

const FOCUSABLE = "a, button, input, select, textarea, summary, [tabindex]";

/** Put a new drawing in the place of the old one without taking away what somebody had opened, scrolled to or focused. */
export function redraw(body, node) {
  const before = (selector) => [...body.querySelectorAll(selector)];
  const open = before("details").map((each) => each.open);
  const scrolled = before(".scroll").map((each) => [each.scrollLeft, each.scrollTop]);
  const focused = body.contains(document.activeElement) ? before(FOCUSABLE).indexOf(document.activeElement) : -1;
  replace(body, node);
  before("details").forEach((each, k) => {
    each.open = open[k] ?? each.open;
  });
  before(".scroll").forEach((each, k) => each.scrollTo(...(scrolled[k] ?? [0, 0])));
  if (focused >= 0) before(FOCUSABLE)[focused]?.focus({ preventScroll: true });
}

export class Panel {
  #drawn = null; // what the drawing on the page was made of, beside the reading; null: there is none
  #reading = null;
  #next = null;

  /** `path()` is what to read, `draw(data)` gives the node; `beside()` is what the drawing shows that is not of the reading, which may come later than it;
   * `nothing(error)` may put what a reading is refused for into the words of the page; `wide` panels take the whole row. */
  constructor({ title, about, path, draw, beside = () => [], nothing = null, wide = false }) {
    Object.assign(this, { path, draw, beside, nothing });
    this.body = el("div", null, el("p", { class: "muted" }, "Reading…"));
    this.node = el(
      "section",
      { class: `card ${wide ? "wide" : ""}`, "aria-label": title },
      el("h2", null, title),
      el("p", { class: "about" }, about),
      this.body,
    );
  }

  /** Read once more, and draw if there is something new. A reading that is on its way may be older than what it is called for: one more follows, for all who call meanwhile. */
  refresh() {
    if (this.#reading) {
      const again = () => {
        this.#next = null;
        return this.refresh();
      };
      this.#next ??= this.#reading.then(again, again); // a reading that failed is no reason to read no more
      return this.#next;
    }
    this.#reading = this.#read().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  async #read() {
    const path = this.path();
    try {
      const { data, changed } = await reading(path);
      const made = JSON.stringify([path, this.beside()]);
      if (changed || made !== this.#drawn) redraw(this.body, this.draw(data));
      this.#drawn = made;
    } catch (error) {
      const early = error.status === 422;
      if (this.#drawn === null || error.status)
        redraw(
          this.body,
          el("p", { class: early ? "muted" : "note warn" }, (early && this.nothing?.(error)) || sentenceOf(error)),
        );
      this.#drawn = null;
    }
  }
}
