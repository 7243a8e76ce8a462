// The Items tab: list and search items, retire and reactivate them, and add more from a file.
import { call, get, post } from "../../shared/api.js";
import { renderBlocks } from "../../shared/content.js";
import { button, card, el, headerRow, note, replace, scrollable, truncated } from "../../shared/dom.js";
import { describe } from "../messages.js";

const PAGE_SIZE = 50;

export function itemsTab(app) {
  let cursors = []; // where each page after the first one starts
  let search = "";
  const status = el("div", { role: "status" });
  const list = el("div");
  const load = async () => {
    try {
      const parameters = new URLSearchParams({
        limit: PAGE_SIZE,
        ...(search ? { search } : {}),
        ...(cursors.length ? { after: cursors.at(-1) } : {}),
      });
      replace(list, page(await get(`${app.base}/arms?${parameters}`)));
    } catch (error) {
      replace(status, note("warn", describe(error)));
    }
  };
  const setRetired = async (item, retired) => {
    try {
      await post(`${app.base}/arms/${retired ? "retire" : "activate"}`, { ids: [item.id] });
      await load();
    } catch (error) {
      replace(status, note("bad", describe(error)));
    }
  };
  const row = (item) =>
    el(
      "tr",
      null,
      el(
        "th",
        { scope: "row" },
        truncated(item.id, { tabindex: 0 }),
        item.retired && el("span", { class: "tag warn" }, "retired"),
      ),
      el("td", null, item.context === null ? "–" : truncated(item.context)),
      el("td", null, el("div", { class: "example" }, renderBlocks(item.content))),
      app.isAdmin &&
        el(
          "td",
          null,
          button(item.retired ? "Reactivate" : "Retire", () => setRetired(item, !item.retired), {
            class: "small",
            title: item.retired
              ? "Show this item to raters again."
              : "Stop showing this item. Votes on it, also on pending pairs, still count.",
          }),
        ),
    );
  const page = ({ arms: items, next }) =>
    el(
      "div",
      null,
      items.length
        ? scrollable(
            "Items",
            el(
              "table",
              null,
              el("caption", null, "In the order they were added"),
              headerRow(["item", "context", "content", app.isAdmin && "actions"].filter(Boolean)),
              el("tbody", null, items.map(row)),
            ),
          )
        : el("p", { class: "muted" }, "No items found."),
      el(
        "p",
        { class: "row" },
        cursors.length > 0 &&
          button("Previous", () => {
            cursors.pop();
            load();
          }),
        next !== null &&
          button("Next", () => {
            cursors.push(next);
            load();
          }),
      ),
    );
  const files = el("input", { type: "file", multiple: true, "aria-label": "Files with items" });
  const add = async () => {
    if (!files.files.length) return;
    const form = new FormData();
    for (const file of files.files) form.append("file", file);
    form.append("plan", "{}");
    replace(status, el("p", { class: "muted" }, "Reading the file…"));
    try {
      const { added, existing, notes } = await call("POST", `${app.base}/files`, { form });
      replace(
        status,
        note("good", `${added} added, ${existing} already in the study.`),
        notes.map(({ message }) => note("info", message)),
      );
      await load();
    } catch (error) {
      replace(status, note("bad", describe(error)));
    }
  };
  const onsearch = (event) => {
    event.preventDefault();
    search = event.target.search.value.trim();
    cursors = [];
    load();
  };
  const node = card(
    "Items",
    "What raters compare. A retired item is not shown any more; its votes still count.",
    el(
      "form",
      { class: "row", onsubmit: onsearch },
      el("label", null, "Search", el("input", { type: "search", name: "search", dir: "auto" })),
      el("button", null, "Search"),
    ),
    app.isAdmin &&
      el(
        "details",
        null,
        el("summary", null, "Add items from a file"),
        el(
          "p",
          null,
          "CSV, TSV, Excel, JSON or JSON Lines with the same columns as the first file, or media files. Existing items are not changed.",
        ),
        el("p", { class: "row" }, files, button("Add", add, { class: "primary" })),
      ),
    status,
    list,
  );
  return { node, refresh: ({ live = false } = {}) => (live ? null : load()) };
}
