// Making a study from a file: drop it, see what was understood, choose what it is for, start.
import { call, get, owner, sentenceOf } from "../shared/api.js";
import { content } from "../shared/content.js";
import { announce, button, el, find, named, replace } from "../shared/dom.js";
import { choices, field, goalChoices, RATERS_SEE } from "./forms.js";

const ROLES = [
  ["id", "the name of an arm"],
  ["payload", "what raters see"],
  ["context", "the group it is compared in"],
  ["prompt", "what the group is about"],
  ["feature", "a number to learn from"],
  ["other", "not used"],
];
const FEATURES = {
  own: "Nothing: each arm for itself",
  columns: "Numbers of the file",
  hashed: "Words, hashed",
  tfidf: "Words, weighed",
  embedded: "Sentence embeddings",
};
const main = find("#main");
const state = { files: [], plan: {}, preview: null, choices: null, goal: "best", fields: [] };
const result = el("div", { class: "stack" });
const said = el("div", { role: "status" });

function form(plan) {
  const data = new FormData();
  for (const file of state.files) data.append("file", file, file.webkitRelativePath || file.name);
  data.append("plan", JSON.stringify(plan));
  return data;
}

async function preview() {
  replace(said, el("p", { class: "muted" }, "Reading the file…"));
  try {
    state.preview = await call("POST", "/files/preview", { form: form(state.plan) });
    replace(said);
    const open = result.querySelector("details")?.open ?? false;
    draw(state.preview);
    const columns = result.querySelector("details");
    if (columns) columns.open = open; // whoever changes a column wants to see what became of it
    announce(`${state.preview.rows} arms were found.`);
  } catch (error) {
    replace(said, el("p", { class: "note bad" }, sentenceOf(error)));
    replace(result);
  }
}

function take(files) {
  state.files = [...files].filter((file) => file.size && !file.name.startsWith("."));
  Object.assign(state, { plan: {}, fields: [] });
  if (state.files.length) preview();
}

/** Files of a folder that was dropped, however deep they lie. */
async function walk(entry) {
  if (entry.isFile) return [await new Promise((resolve, reject) => entry.file(resolve, reject))];
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const part = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!part.length) return found;
    for (const each of part) found.push(...(await walk(each)));
  }
}

function dropZone() {
  const file = el("input", { type: "file", id: "file", multiple: true, onchange: () => take(file.files) });
  const folder = el("input", { type: "file", id: "folder", webkitdirectory: true, onchange: () => take(folder.files) });
  const zone = el(
    "section",
    { class: "card", "aria-label": "File" },
    el("h2", null, "1. What should be compared?"),
    el(
      "div",
      { class: "drop" },
      el(
        "p",
        null,
        "Drop a file here: CSV, TSV, Excel, JSON or JSONL, in any encoding, one arm a row. Or a folder of images, sounds or films.",
      ),
      el("p", null, el("label", { for: "file" }, "A file: ", file)),
      el("p", null, el("label", { for: "folder" }, "A folder: ", folder)),
    ),
    said,
  );
  const drop = zone.querySelector(".drop");
  zone.addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
  zone.addEventListener("dragleave", () => drop.classList.remove("over"));
  zone.addEventListener("drop", async (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    const folders = entries.some((entry) => entry.isDirectory);
    take(folders ? (await Promise.all(entries.map(walk))).flat() : event.dataTransfer.files);
  });
  return zone;
}

function draw(found) {
  const count = found.rows.toLocaleString("en");
  const plan = found.plan ?? {};
  const grouped = found.arms.some((arm) => arm.context !== null);
  const name = field(
    { name: "name", label: "Name of the study", kind: "text", required: true },
    state.name ?? plan.name ?? state.files[0].name.replace(/\.[^.]*$/, ""),
  );
  name.input.addEventListener("input", () => {
    state.name = name.input.value;
  });
  const given = Object.fromEntries(state.fields.map((each) => [each.spec.name, each.read()])); // another preview keeps what was typed
  const guessed = { ...state.choices.settings, ...plan.settings };
  state.fields = RATERS_SEE.map((spec) => field(spec, given[spec.name] ?? guessed[spec.name]));
  state.fields
    .find((each) => each.spec.name === "show_as")
    .input.addEventListener("change", (event) => {
      state.plan = { ...state.plan, settings: { show_as: event.target.value } };
      preview();
    });
  replace(
    result,
    el(
      "section",
      { class: "card", "aria-label": "Preview" },
      el("h2", null, `2. Is this right? ${count} arms`),
      el(
        "p",
        { class: "about" },
        found.kind === "table" ? "A table, an arm a row." : "Media files, which the server keeps.",
      ),
      found.encoding && howItIsWritten(found),
      found.notes.map((note) => el("p", { class: "note" }, note)),
      found.columns?.length > 0 && columns(found.columns),
      el(
        "div",
        { class: "scroll", tabindex: 0, role: "group", "aria-label": "Examples" },
        el(
          "table",
          null,
          el("caption", null, `The first ${found.arms.length} as raters will see them`),
          el(
            "thead",
            null,
            el(
              "tr",
              null,
              ["arm", grouped && "context", "what raters see"]
                .filter(Boolean)
                .map((each) => el("th", { scope: "col" }, each)),
            ),
          ),
          el(
            "tbody",
            null,
            found.arms.map((arm) =>
              el(
                "tr",
                null,
                el("th", { scope: "row" }, named(arm.id)),
                grouped && el("td", null, arm.context === null ? "–" : named(arm.context)),
                el("td", null, el("div", { class: "example" }, content(seen(arm)))),
              ),
            ),
          ),
        ),
      ),
    ),
    el(
      "section",
      { class: "card", "aria-label": "Goal" },
      el("h2", null, "3. What is it for?"),
      goalChoices(state.choices.goals, state.goal, (goal) => {
        state.goal = goal;
      }),
    ),
    el(
      "section",
      { class: "card", "aria-label": "Features" },
      el("h2", null, "4. What do arms have in common?"),
      el(
        "p",
        { class: "about" },
        "With features a vote on two arms also teaches something about arms like them. If in doubt, keep what is chosen.",
      ),
      choices(
        "features",
        "Features",
        found.features.map((each) => ({
          value: each.kind,
          label: `${FEATURES[each.kind] ?? each.kind}${each.dim ? ` (${each.dim})` : ""}`,
          help: [each.advice, !each.available && each.missing, each.kind === "columns" && usedNumbers(found)]
            .filter(Boolean)
            .join(" "),
          disabled: !each.available,
        })),
        plan.features?.kind,
        (kind) => {
          state.plan = { ...state.plan, features: { kind } };
          preview();
        },
      ),
    ),
    el(
      "section",
      { class: "card settings", "aria-label": "What raters see" },
      el("h2", null, "5. What raters see"),
      el("p", { class: "about" }, "All of this can be changed later."),
      name.node,
      state.fields.map((each) => each.node),
    ),
    el(
      "p",
      null,
      button("Start the study", () => start(name.read()), { class: "primary", id: "start" }),
    ),
    done,
  );
}

/** Which numbers would be used: names say more than that there are some. */
function usedNumbers({ columns, plan }) {
  const chosen = plan.features?.columns;
  const there = columns.filter((each) => each.numeric && ["other", "feature"].includes(each.role));
  const names = (chosen?.length ? chosen : there.map((each) => each.name)).slice(0, 8);
  return names.length ? `Here: ${names.join(", ")}.` : "There are none in this file.";
}

const done = el("div", { role: "alert" });

/** Pictures are still here and not at the server: the browser shows them itself. */
function seen(arm) {
  const file =
    arm.content.length === 1 &&
    state.files.find((each) => each.name === arm.content[0].text && each.type.startsWith("image/"));
  return file ? [{ type: "local", file }] : arm.content;
}

const ENCODINGS =
  "utf-8 utf-16 cp1252 latin-1 cp1250 cp1251 koi8-r cp1253 cp1254 cp1255 cp1256 mac_roman shift_jis euc_jp gb18030 big5 euc_kr".split(
    " ",
  );
/** A short file does not always say how it is written: what was guessed can be put right. */
function howItIsWritten({ encoding }) {
  const names = ENCODINGS.includes(encoding) ? ENCODINGS : [encoding, ...ENCODINGS];
  const onchange = (event) => {
    state.plan = { ...state.plan, encoding: event.target.value };
    preview();
  };
  const options = names.map((each) => el("option", { value: each, selected: each === encoding }, each));
  return el(
    "p",
    null,
    el(
      "label",
      null,
      "Letters are written in",
      el("select", { "aria-label": "Letters are written in", onchange }, options),
    ),
  );
}

function columns(found) {
  const set = (column, role) => {
    const roles = Object.fromEntries(found.map((each) => [each.name, each.name === column ? role : each.role]));
    const plan = { ...state.plan, columns: {} };
    for (const one of ["id", "payload", "context", "prompt"]) {
      const chosen = found.map((each) => each.name).filter((each) => roles[each] === one);
      const wanted = role === one ? column : chosen[0];
      if (wanted !== undefined) plan.columns[one] = wanted;
    }
    const numbers = found.filter((each) => roles[each.name] === "feature").map((each) => each.name);
    if (role === "feature" || found.some((each) => each.name === column && each.role === "feature"))
      plan.features = numbers.length ? { kind: "columns", columns: numbers } : { kind: "own" };
    state.plan = plan;
    preview();
  };
  return el(
    "details",
    null,
    el("summary", null, "What the columns are"),
    el(
      "div",
      { class: "scroll", tabindex: 0, role: "group", "aria-label": "Columns" },
      el(
        "table",
        null,
        el("caption", null, "Columns of the file"),
        el(
          "thead",
          null,
          el(
            "tr",
            null,
            ["column", "is", "for instance"].map((each) => el("th", { scope: "col" }, each)),
          ),
        ),
        el(
          "tbody",
          null,
          found.map((each) =>
            el(
              "tr",
              null,
              el("th", { scope: "row" }, named(each.name)),
              el(
                "td",
                null,
                el(
                  "select",
                  { "aria-label": `What ${each.name} is`, onchange: (event) => set(each.name, event.target.value) },
                  ROLES.filter(([role]) => role !== "feature" || each.numeric || each.role === "feature").map(
                    ([role, text]) => el("option", { value: role, selected: role === each.role }, text),
                  ),
                ),
              ),
              el(
                "td",
                null,
                el(
                  "span",
                  { dir: "auto" },
                  each.examples
                    .slice(0, 3)
                    .map((value) => String(value).slice(0, 80))
                    .join(" · "),
                ),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

async function start(name) {
  const settings = Object.fromEntries(
    state.fields.map((each) => [each.spec.name, each.read()]).filter(([, value]) => value !== null && value !== false),
  );
  const plan = { ...state.plan, name, goal: state.goal, settings };
  const go = find("#start");
  go.disabled = true;
  replace(done, el("p", { class: "muted" }, "The study is being made…"));
  try {
    const made = await call("POST", "/files/create", { form: form(plan) });
    location.assign(`/study/${made.id}#sharing`);
  } catch (error) {
    go.disabled = false;
    replace(done, el("p", { class: "note bad" }, sentenceOf(error)));
  }
}

try {
  await owner();
  state.choices = await get("/choices");
  replace(main, dropZone(), result);
} catch (error) {
  replace(main, el("p", { class: "note bad" }, sentenceOf(error)));
}
