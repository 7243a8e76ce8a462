// Links for raters, keys for programs, and everything that leaves the study as a file or comes in as one.
import { call, get, post, sentenceOf } from "../../shared/api.js";
import { announce, button, confirm, el, named, replace, table } from "../../shared/dom.js";

const card = (title, about, ...children) =>
  el(
    "section",
    { class: "card", "aria-label": title },
    el("h2", null, title),
    el("p", { class: "about" }, about),
    children,
  );
const day = (time) => (time ? new Date(time).toLocaleDateString("en-GB", { dateStyle: "medium" }) : "never");

export function sharingPart(here) {
  const node = el("div", { class: "masonry" });
  const fill = async () => {
    here.choices ??= await get("/choices");
    const keys = here.admin && keysCard(here);
    replace(
      node,
      here.admin && linksCard(here, () => keys.again()),
      downloads(here),
      here.admin && moving(here),
      keys?.node,
    );
  };
  let filled = null;
  return { node, refresh: ({ live = false } = {}) => (live && filled ? null : (filled = fill())) };
}

function secret(text, label) {
  const input = el("input", {
    type: "text",
    readonly: true,
    value: text,
    "aria-label": label,
    onfocus: (event) => event.target.select(),
  });
  const copy = button(
    "Copy",
    async () => {
      input.select();
      // On plain http there is no clipboard for pages; the text is selected for the keyboard then.
      await copied(text, copy);
    },
    { class: "small" },
  );
  return el("div", { class: "row links" }, input, copy);
}

/** Copy a text and say so, to those who see the button and to those who do not. */
const copied = (text, copy) =>
  navigator.clipboard?.writeText(text).then(
    () => {
      copy.textContent = "Copied";
      announce("Copied.");
    },
    () => {},
  );

/** All links at once, as a spreadsheet or a mail merge takes them: a line each, a tab between name and link. */
function copyAll(links) {
  const text = links.map(({ rater, href }) => `${rater}\t${href}`).join("\n");
  const copy = button("Copy all, with names", () => copied(text, copy), { class: "small" });
  return navigator.clipboard && links.length > 1 && el("p", null, copy);
}

function linksCard(here, made) {
  const out = el("div");
  const names = el("textarea", { id: "link-names", rows: 4, dir: "auto", placeholder: "ana\nben" });
  const days = el("input", { id: "link-days", type: "number", min: 1, placeholder: "no end" });
  const make = async (event) => {
    event.preventDefault();
    const raters = names.value
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean);
    try {
      const { links } = await post(`${here.base}/links`, {
        raters,
        ...(days.value ? { days: Number(days.value) } : {}),
      });
      const complete = links.map(({ rater, url }) => ({ rater, href: new URL(url, location.href).href }));
      replace(
        out,
        el("p", { class: "note" }, "These are shown once: copy them now. Whoever has a link votes under its name."),
        table(
          "Links",
          ["rater", "link"],
          complete.map(({ rater, href }) => [named(rater), secret(href, `Link of ${rater}`)]),
        ),
        copyAll(complete),
      );
      made();
    } catch (error) {
      replace(out, el("p", { class: "note bad" }, sentenceOf(error)));
    }
  };
  const address = new URL(here.study.rate_url ?? `/rate/${here.id}`, location.href).href;
  return card(
    "Links for raters",
    "A link for each rater, to be sent to them. What follows the # in it is their key, which no server log ever sees.",
    here.study.settings.open_registration &&
      el("p", { class: "note" }, "Anybody may take part at ", el("a", { href: address }, address), "."),
    el(
      "form",
      { onsubmit: make },
      el("label", { for: "link-names" }, "Names of raters, one a line"),
      names,
      el(
        "p",
        { class: "row" },
        el("label", null, "Days until they end", days),
        el("button", { class: "primary" }, "Make links"),
      ),
    ),
    out,
  );
}

/** Keys of a study, or with an empty `base` of all studies. */
export function keysCard({ base }) {
  const list = el("div");
  const said = el("div", { role: "status" });
  const again = async () => {
    try {
      const { tokens } = await get(`${base}/tokens`);
      const alive = tokens.filter((each) => !each.revoked && (base || each.study === null));
      replace(
        list,
        alive.length
          ? table(
              "Links and keys that are valid",
              ["who", "may", "made", "ends", ""],
              alive.map((each) => [
                named(each.rater ?? each.label ?? "–"),
                { admin: "run", reader: "read", rater: "rate" }[each.scope] ?? each.scope,
                day(each.created_at),
                day(each.expires_at),
                button("End", () => end(each), {
                  class: "small",
                  "aria-label": `End the key of ${each.rater ?? each.label ?? each.id}`,
                }),
              ]),
            )
          : el("p", { class: "muted" }, "There are none."),
      );
    } catch (error) {
      replace(said, el("p", { class: "note bad" }, sentenceOf(error)));
    }
  };
  const end = async (token) => {
    if (
      !(await confirm(
        "End this key?",
        `Whoever uses it (${token.rater ?? token.label ?? token.id}) is refused from now on. Votes stay. A new link can be made.`,
        "End it",
      ))
    )
      return;
    try {
      await call("DELETE", `${base}/tokens/${token.id}`);
    } catch (error) {
      replace(said, el("p", { class: "note bad" }, sentenceOf(error)));
    }
    await again();
  };
  const make = async (event) => {
    event.preventDefault();
    const given = new FormData(event.target);
    try {
      const made = await post(`${base}/tokens`, {
        scope: given.get("scope"),
        label: given.get("label").trim() || null,
      });
      replace(said, el("p", { class: "note" }, "This is shown once: copy it now."), secret(made.token, "Key"));
      await again();
    } catch (error) {
      replace(said, el("p", { class: "note bad" }, sentenceOf(error)));
    }
  };
  again();
  return {
    again,
    node: card(
      "Keys",
      base
        ? "For people who look at this study or run it, and for programs. Each can be ended."
        : "For people who look at all studies or run them, and for programs. Each can be ended.",
      el(
        "form",
        { class: "row", onsubmit: make },
        el("label", null, "For whom", el("input", { type: "text", name: "label", dir: "auto" })),
        el(
          "label",
          null,
          "May",
          el(
            "select",
            { name: "scope" },
            [
              ["reader", "look at everything"],
              ["admin", base ? "run the study" : "run everything"],
            ].map(([value, text]) => el("option", { value }, text)),
          ),
        ),
        el("button", null, "Make a key"),
      ),
      said,
      list,
    ),
  };
}

function downloads(here) {
  const file = (path, text, about) =>
    el("li", null, el("a", { href: `/api/v1${path}`, download: "" }, text), " ", el("small", null, about));
  return card(
    "Downloads",
    "Votes for other tools, and the whole study to keep.",
    el(
      "ul",
      null,
      here.choices.formats.map((each) =>
        file(`${here.base}/export/${encodeURIComponent(each.name)}`, each.name, each.summary),
      ),
      here.admin &&
        file(
          `${here.base}/archive`,
          "archive",
          "everything there is of this study, in one file from which it can be made again",
        ),
      here.everything && file("/backup", "backup", "all studies of this server, an SQLite file"),
    ),
  );
}

function moving(here) {
  const said = el("div", { role: "status" });
  const files = el("input", { type: "file", "aria-label": "File of votes" });
  const format = el(
    "select",
    { "aria-label": "Format" },
    el("option", { value: "" }, "by its content"),
    here.choices.formats.filter((each) => each.read).map((each) => el("option", { value: each.name }, each.name)),
  );
  const take = async () => {
    const [file] = files.files;
    if (!file) return;
    try {
      const parameters = new URLSearchParams({
        filename: file.name,
        ...(format.value ? { format: format.value } : {}),
      });
      const done = await call("POST", `${here.base}/import?${parameters}`, {
        raw: file,
        headers: { "Content-Type": "application/octet-stream" },
      });
      replace(
        said,
        el("p", { class: "note good" }, `${done.added} votes were added; ${done.known} were there already.`),
      );
    } catch (error) {
      replace(said, el("p", { class: "note bad" }, sentenceOf(error)));
    }
  };
  const copy = async (event) => {
    event.preventDefault();
    try {
      const made = await post(`${here.base}/copy`, { name: event.target.name.value.trim() });
      replace(
        said,
        el("p", { class: "note good" }, "Copied: ", el("a", { href: `/study/${made.id}`, dir: "auto" }, made.name)),
      );
    } catch (error) {
      replace(said, el("p", { class: "note bad" }, sentenceOf(error)));
    }
  };
  return card(
    "Votes from a file, and copies",
    "Votes that are there already are not counted twice.",
    el("p", { class: "row" }, files, format, button("Take in", take)),
    here.everything &&
      el(
        "form",
        { class: "row", onsubmit: copy },
        el(
          "label",
          null,
          "A copy of this study, by the name of",
          el("input", { type: "text", name: "name", dir: "auto", required: true }),
        ),
        el("button", null, "Copy"),
      ),
    said,
  );
}
