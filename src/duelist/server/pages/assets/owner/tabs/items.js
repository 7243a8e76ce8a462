// The arms: what they are, which are out of the game, and more of them from a file.
import { call, get, post, sentenceOf } from "../../shared/api.js";
import { content } from "../../shared/content.js";
import { button, el, named, replace } from "../../shared/dom.js";

const PAGE = 50;

export function armsPart(here) {
  let after = [];
  let search = "";
  const said = el("div", { role: "status" });
  const body = el("div");
  const read = async () => {
    try {
      const parameters = new URLSearchParams({
        limit: PAGE,
        ...(search ? { search } : {}),
        ...(after.length ? { after: after.at(-1) } : {}),
      });
      replace(body, drawn(await get(`${here.base}/arms?${parameters}`)));
    } catch (error) {
      replace(said, el("p", { class: "note warn" }, sentenceOf(error)));
    }
  };
  const put = async (arm) => {
    try {
      await post(`${here.base}/arms/${arm.retired ? "restore" : "retire"}`, { ids: [arm.id] });
      await read();
    } catch (error) {
      replace(said, el("p", { class: "note bad" }, sentenceOf(error)));
    }
  };
  const drawn = ({ arms, next }) =>
    el(
      "div",
      null,
      arms.length
        ? el(
            "div",
            { class: "scroll", tabindex: 0, role: "group", "aria-label": "Arms" },
            el(
              "table",
              null,
              el("caption", null, "In the order they were added"),
              el(
                "thead",
                null,
                el(
                  "tr",
                  null,
                  ["arm", "context", "what raters see", here.admin && "in the game"]
                    .filter(Boolean)
                    .map((each) => el("th", { scope: "col" }, each)),
                ),
              ),
              el(
                "tbody",
                null,
                arms.map((arm) =>
                  el(
                    "tr",
                    null,
                    el(
                      "th",
                      { scope: "row" },
                      named(arm.id, { tabindex: 0 }),
                      arm.retired && el("span", { class: "tag warn" }, "retired"),
                    ),
                    el("td", null, arm.context === null ? "–" : named(arm.context)),
                    el("td", null, el("div", { class: "example" }, content(arm.content))),
                    here.admin &&
                      el(
                        "td",
                        null,
                        button(arm.retired ? "Take back in" : "Retire", () => put(arm), {
                          class: "small",
                          title: arm.retired
                            ? "Ask it again."
                            : "Ask it no more; votes on pairs that are out still count.",
                        }),
                      ),
                  ),
                ),
              ),
            ),
          )
        : el("p", { class: "muted" }, "No arm is here."),
      el(
        "p",
        { class: "row" },
        after.length > 0 &&
          button("Back", () => {
            after.pop();
            read();
          }),
        next !== null &&
          button("More", () => {
            after.push(next);
            read();
          }),
      ),
    );
  const files = el("input", { type: "file", multiple: true, "aria-label": "File of arms" });
  const add = async () => {
    if (!files.files.length) return;
    const form = new FormData();
    for (const file of files.files) form.append("file", file);
    form.append("plan", "{}");
    replace(said, el("p", { class: "muted" }, "Reading the file…"));
    try {
      const { added, there, notes } = await call("POST", `${here.base}/files`, { form });
      replace(
        said,
        el("p", { class: "note good" }, `${added} new, ${there} were there already.`),
        notes.map((note) => el("p", { class: "note" }, note)),
      );
      await read();
    } catch (error) {
      replace(said, el("p", { class: "note bad" }, sentenceOf(error)));
    }
  };
  const node = el(
    "section",
    { class: "card", "aria-label": "Arms" },
    el("h2", null, "Arms"),
    el("p", { class: "about" }, "What is compared. A retired arm is asked no more, and its votes go on teaching."),
    el(
      "form",
      {
        class: "row",
        onsubmit: (event) => {
          event.preventDefault();
          search = event.target.search.value.trim();
          after = [];
          read();
        },
      },
      el("label", null, "Search", el("input", { type: "search", name: "search", dir: "auto" })),
      el("button", null, "Search"),
    ),
    here.admin &&
      el(
        "details",
        null,
        el("summary", null, "Add arms from a file"),
        el(
          "p",
          null,
          "A file like the first one, with the same columns: CSV, TSV, Excel, JSON, JSONL, or media files. Arms that are there already stay as they are.",
        ),
        el("p", { class: "row" }, files, button("Add", add, { class: "primary" })),
      ),
    said,
    body,
  );
  return { node, refresh: ({ live = false } = {}) => (live ? null : read()) };
}
