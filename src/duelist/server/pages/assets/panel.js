// A panel of the dashboard: a title, a sentence that says what it shows, and what is read from the server, drawn anew when it changes.
import { reading, sentenceOf } from "./api.js";
import { el, replace } from "./dom.js";

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
  #drawn = false;
  #reading = null;

  /** `path()` is what to read, `draw(data)` gives the node; `nothing(error)` may put what a reading is refused for into the words of the page; `wide` panels take the whole row. */
  constructor({ title, about, path, draw, nothing = null, wide = false }) {
    Object.assign(this, { path, draw, nothing });
    this.body = el("div", null, el("p", { class: "muted" }, "Reading…"));
    this.node = el(
      "section",
      { class: `card ${wide ? "wide" : ""}`, "aria-label": title },
      el("h2", null, title),
      el("p", { class: "about" }, about),
      this.body,
    );
  }

  /** Read once more, and draw if there is something new. Calls that come while one is on its way share it. */
  refresh() {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  async #read() {
    const path = this.path();
    try {
      const { data, changed } = await reading(path);
      if (changed || !this.#drawn || path !== this.lastPath) redraw(this.body, this.draw(data));
      this.#drawn = true;
      this.lastPath = path;
    } catch (error) {
      const early = error.status === 422;
      if (!this.#drawn || error.status)
        redraw(
          this.body,
          el("p", { class: early ? "muted" : "note warn" }, (early && this.nothing?.(error)) || sentenceOf(error)),
        );
      this.#drawn = false;
    }
  }
}
