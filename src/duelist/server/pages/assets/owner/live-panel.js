// A panel of the dashboard: a title, a description, and data from the server that is fetched and drawn again when it changes.
import { getCached } from "../shared/api.js";
import { card, el, replace } from "../shared/dom.js";
import { offerDownloads } from "./downloads.js";
import { describe } from "./messages.js";

const FOCUSABLE = "a, button, input, select, textarea, summary, [tabindex]";

/** Replace the content of `body`, but keep what the user has opened, scrolled to or focused. */
export function redraw(body, content) {
  const all = (selector) => [...body.querySelectorAll(selector)];
  const open = all("details").map((each) => each.open);
  const scrolled = all(".scroll").map((each) => [each.scrollLeft, each.scrollTop]);
  const focused = body.contains(document.activeElement) ? all(FOCUSABLE).indexOf(document.activeElement) : -1;
  replace(body, content);
  all("details").forEach((each, k) => {
    each.open = open[k] ?? each.open;
  });
  all(".scroll").forEach((each, k) => each.scrollTo(...(scrolled[k] ?? [0, 0])));
  if (focused >= 0) all(FOCUSABLE)[focused]?.focus({ preventScroll: true });
}

export class LivePanel {
  #drawn = null; // path and dependencies of the drawing on the page; null if there is none
  #fetching = null;
  #next = null;

  /**
   * `path()` is the data to fetch and `draw(data)` returns the content. `dependencies()` lists other values that `draw` uses, so that a
   * change of one of them draws again. `rows(data)` is the CSV file, if the page shows a part of it. `notEnoughData` is shown if the server cannot compute a result yet (422). `wide` panels take the
   * whole row.
   */
  constructor({
    title,
    description,
    path,
    draw,
    dependencies = () => [],
    notEnoughData = null,
    wide = false,
    rows = null,
  }) {
    Object.assign(this, { path, draw, dependencies, notEnoughData, title, rows });
    this.downloads = el("div", { class: "downloads" });
    this.body = el("div", null, el("p", { class: "muted" }, "Loading…"));
    this.node = card(title, description, this.body);
    this.node.classList.toggle("wide", wide);
    this.node.firstChild.after(this.downloads);
  }

  /** Fetch again, and draw if anything has changed. Calls during a fetch share one more fetch, since its data may be older than the call. */
  refresh() {
    if (this.#fetching) {
      const again = () => {
        this.#next = null;
        return this.refresh();
      };
      this.#next ??= this.#fetching.then(again, again); // also after a failure
      return this.#next;
    }
    this.#fetching = this.#fetch().finally(() => {
      this.#fetching = null;
    });
    return this.#fetching;
  }

  async #fetch() {
    const path = this.path();
    try {
      const { data, changed } = await getCached(path);
      const inputs = JSON.stringify([path, this.dependencies()]);
      if (changed || inputs !== this.#drawn) {
        redraw(this.body, this.draw(data));
        // Charts are drawn once their width is known.
        requestAnimationFrame(() => setTimeout(() => offerDownloads(this.downloads, this.body, this.title, this.rows?.(data))));
      }
      this.#drawn = inputs;
    } catch (error) {
      const isEarly = error.status === 422;
      if (this.#drawn === null || error.status) {
        const text = (isEarly && this.notEnoughData) || describe(error);
        redraw(this.body, el("p", { class: isEarly ? "muted" : "note warn" }, text));
      }
      this.#drawn = null;
    }
  }
}
