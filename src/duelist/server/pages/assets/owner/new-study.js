// Create a study from a file: upload it, check the preview, choose the goal, create the study.
import { call, get, requireOwner } from "../shared/api.js";
import { renderBlocks } from "../shared/content.js";
import { speak, button, card, el, find, headerRow, note, replace, scrollable, truncated } from "../shared/dom.js";
import { createField, goalChoice, radioGroup, RATER_PAGE_SETTINGS } from "./forms.js";
import { describe } from "./messages.js";
import { planCard } from "./planner.js";

const ROLES = [
  ["id", "item id"],
  ["payload", "content that raters see"],
  ["context", "context: items are compared within it"],
  ["prompt", "prompt that describes the context"],
  ["system", "system that gave the answer"],
  ["answer", "answers of one system, named by the column"],
  ["category", "category of the prompt"],
  ["feature", "numeric feature"],
  ["media", "picture, sound or video beside the content"],
  ["other", "not used"],
];
const SINGLE_ROLES = ["id", "payload", "context", "prompt", "system", "category"]; // at most one column each
const FEATURES = {
  given: ["Features in the file", "The file has a list of numbers for each item."],
  none: ["No features", "Each item is learned by itself. A good choice for up to about 200 items."],
  columns: ["Numeric columns", "Numbers in the file describe the items, such as length, price or model size."],
  hashed: ["Text: hashed n-grams", "For many texts in any language: items with similar wording are similar."],
  tfidf: [
    "Text: TF-IDF words",
    "For longer texts in a language with spaces: items with the same rare words are similar.",
  ],
  embedded: [
    "Text: sentence embeddings",
    "For texts that are similar in meaning rather than in wording, mostly in English. Slower; the best choice for many short texts.",
  ],
};
const ENCODINGS =
  "utf-8 utf-16 cp1252 latin-1 cp1250 cp1251 koi8-r cp1253 cp1254 cp1255 cp1256 mac_roman shift_jis euc_jp gb18030 big5 euc_kr".split(
    " ",
  );

const main = find("#main");
const state = { files: [], plan: {}, choices: null, goal: "best", name: null, fields: [] };
const previewNode = el("div", { class: "stack" });
const uploadStatus = el("div", { role: "status" });
const createStatus = el("div", { role: "alert" });

function formData(plan) {
  const data = new FormData();
  for (const file of state.files) data.append("file", file, file.webkitRelativePath || file.name);
  data.append("plan", JSON.stringify(plan));
  return data;
}

async function updatePreview() {
  replace(uploadStatus, el("p", { class: "muted" }, "Reading the file…"));
  try {
    const preview = await call("POST", "/files/preview", { form: formData(state.plan) });
    replace(uploadStatus);
    const wasOpen = find("details", previewNode)?.open ?? false;
    showPreview(preview);
    const columns = find("details", previewNode);
    if (columns) columns.open = wasOpen; // the user may be changing several columns
    speak(`${preview.rows} items found.`);
  } catch (error) {
    replace(uploadStatus, note("bad", describe(error)));
    replace(previewNode);
  }
}

function changePlan(changes) {
  state.plan = { ...state.plan, ...changes };
  updatePreview();
}

// -- 1. upload ----------------------------------------------------------------------------------------------------------

function upload(files) {
  state.files = [...files].filter((file) => file.size && !file.name.startsWith("."));
  Object.assign(state, { plan: {}, fields: [] });
  if (state.files.length) updatePreview();
}

/** All files of a dropped folder, at any depth. */
async function filesIn(entry) {
  if (entry.isFile) return [await new Promise((resolve, reject) => entry.file(resolve, reject))];
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!batch.length) return found;
    for (const each of batch) found.push(...(await filesIn(each)));
  }
}

function uploadCard() {
  const file = el("input", { type: "file", id: "file", multiple: true, onchange: () => upload(file.files) });
  const folder = el("input", {
    type: "file",
    id: "folder",
    webkitdirectory: true,
    onchange: () => upload(folder.files),
  });
  const dropZone = el(
    "div",
    { class: "drop" },
    el("p", null, "Drop a file or a folder here."),
    el("p", null, el("label", { for: "file" }, "File: ", file)),
    el("p", null, el("label", { for: "folder" }, "Folder: ", folder)),
  );
  const node = card(
    "1. Upload your items",
    "A table with one item per row (CSV, TSV, Excel, JSON or JSON Lines), or a folder of images, audio or video files.",
    dropZone,
    uploadStatus,
  );
  node.addEventListener("dragover", (event) => {
    event.preventDefault();
    dropZone.classList.add("over");
  });
  node.addEventListener("dragleave", () => dropZone.classList.remove("over"));
  node.addEventListener("drop", async (event) => {
    event.preventDefault();
    dropZone.classList.remove("over");
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    const hasFolder = entries.some((entry) => entry.isDirectory);
    upload(hasFolder ? (await Promise.all(entries.map(filesIn))).flat() : event.dataTransfer.files);
  });
  return node;
}

// -- 2. preview ---------------------------------------------------------------------------------------------------------

function showPreview(preview) {
  replace(
    previewNode,
    previewCard(preview),
    card(
      "3. Choose a goal",
      "The goal decides which pairs are shown and when you can stop.",
      goalChoice(state.choices.goals, state.goal, (goal) => {
        state.goal = goal;
      }),
    ),
    preview.systems.length === 0 && featuresCard(preview),
    planCard(preview.systems.length || preview.rows, () => state.goal),
    raterPageCard(preview),
    createStatus,
  );
}

function previewCard({ rows, kind, encoding, notes, columns, items, systems, contexts }) {
  const heading = systems.length
    ? `${rows.toLocaleString("en")} answers of ${systems.length} systems to ${contexts.toLocaleString("en")} prompts`
    : `${rows.toLocaleString("en")} items`;
  const hasContexts = items.some((item) => item.context !== null);
  const row = (item) =>
    el(
      "tr",
      null,
      el("th", { scope: "row" }, truncated(item.system ?? item.id)),
      hasContexts && el("td", null, item.context === null ? "–" : truncated(item.context)),
      el("td", null, el("div", { class: "example" }, renderBlocks(previewContent(item)))),
    );
  return card(
    `2. Check the preview: ${heading}`,
    systems.length
      ? "Raters see two answers to one prompt and no names; the leaderboard ranks systems."
      : kind === "table"
        ? "Each row of the file is an item."
        : "Each media file is an item. The files are stored on the server.",
    encoding && encodingField(encoding),
    notes.map(({ message }) => note("info", message)),
    columns?.length > 0 && columnsField(columns),
    scrollable(
      "Preview",
      el(
        "table",
        null,
        el("caption", null, `The first ${items.length} items, as raters will see them`),
        headerRow([systems.length ? "system" : "item", hasContexts && (systems.length ? "prompt" : "context"), "content"].filter(Boolean)),
        el("tbody", null, items.map(row)),
      ),
    ),
  );
}

/** Pictures are not uploaded yet: the browser shows its own copies. */
function previewContent(item) {
  const pictures = state.files.filter((each) => each.type.startsWith("image/"));
  return item.content.map((block) => {
    const file = pictures.find((each) => each.name === block.text);
    return file ? { type: "localFile", file } : block;
  });
}

/** The encoding of a short file cannot always be detected: let the user correct it. */
function encodingField(encoding) {
  const names = ENCODINGS.includes(encoding) ? ENCODINGS : [encoding, ...ENCODINGS];
  const select = el(
    "select",
    { onchange: (event) => changePlan({ encoding: event.target.value }) },
    names.map((each) => el("option", { value: each, selected: each === encoding }, each)),
  );
  return el("p", null, el("label", null, "File encoding", select));
}

const isPossible = (role, column) =>
  role === column.role || (role !== "media" && (role !== "feature" || column.numeric)); // the files decide on "media"

function columnsField(columns) {
  const row = (column) =>
    el(
      "tr",
      null,
      el("th", { scope: "row" }, truncated(column.name)),
      el(
        "td",
        null,
        el(
          "select",
          {
            "aria-label": `Use of column ${column.name}`,
            onchange: (event) => setRole(columns, column.name, event.target.value),
          },
          ROLES.filter(([role]) => isPossible(role, column)).map(
            ([role, text]) => el("option", { value: role, selected: role === column.role }, text),
          ),
        ),
      ),
      el("td", null, el("span", { dir: "auto" }, exampleValues(column))),
    );
  return el(
    "details",
    null,
    el("summary", null, "Columns"),
    scrollable(
      "Columns",
      el(
        "table",
        null,
        el("caption", null, "How each column of the file is used"),
        headerRow(["column", "use", "examples"]),
        el("tbody", null, columns.map(row)),
      ),
    ),
  );
}

const exampleValues = (column) =>
  column.examples
    .slice(0, 3)
    .map((value) => String(value).slice(0, 80))
    .join(" · ");

function setRole(columns, name, role) {
  const roles = Object.fromEntries(columns.map((each) => [each.name, each.name === name ? role : each.role]));
  const changes = { columns: {} };
  for (const single of SINGLE_ROLES) {
    const column = role === single ? name : columns.find((each) => roles[each.name] === single)?.name;
    if (column !== undefined) changes.columns[single] = column;
  }
  const systems = columns.map((each) => each.name).filter((each) => roles[each] === "answer");
  const wereSystems = columns.some((each) => each.role === "answer");
  if (systems.length || wereSystems) changes.systems = systems;
  const features = columns.filter((each) => roles[each.name] === "feature").map((each) => each.name);
  const wasFeature = columns.some((each) => each.name === name && each.role === "feature");
  if (role === "feature" || wasFeature)
    changes.features = features.length ? { kind: "columns", columns: features } : { kind: "none" };
  changePlan(changes);
}

// -- 4. features --------------------------------------------------------------------------------------------------------

function featuresCard(preview) {
  const options = preview.features.map(({ kind, advice, available, missing }) => {
    const [label, help] = FEATURES[kind] ?? [kind, advice];
    const names = kind === "columns" && namesOfNumericColumns(preview);
    const install = !available && missing && `Not installed on the server: ${missing}`;
    return { value: kind, label, help: [help, names, install].filter(Boolean).join(" "), disabled: !available };
  });
  return card(
    "4. Choose features",
    "With features, a vote on one item also teaches something about similar items. If in doubt, keep the suggestion.",
    radioGroup("features", "Features", options, preview.plan?.features?.kind, (kind) =>
      changePlan({ features: { kind } }),
    ),
  );
}

function namesOfNumericColumns({ columns, plan }) {
  const chosen = plan?.features?.columns;
  const numeric = columns.filter((each) => each.numeric && ["other", "feature"].includes(each.role));
  const names = (chosen?.length ? chosen : numeric.map((each) => each.name)).slice(0, 8);
  return names.length ? `Columns: ${names.join(", ")}.` : "This file has none.";
}

// -- 5. rater page ------------------------------------------------------------------------------------------------------

/** The name of the folder, or of the file without its ending. */
const suggestedName = () => {
  const [{ name, webkitRelativePath: path }] = state.files;
  return path ? path.split("/")[0] : name.replace(/\.[^.]*$/, "");
};

function raterPageCard({ plan = {} }) {
  const name = createField(
    { name: "name", label: "Name of the study", kind: "text", required: true },
    state.name ?? plan.name ?? suggestedName(),
  );
  name.input.addEventListener("input", () => {
    state.name = name.input.value;
  });
  const entered = Object.fromEntries(state.fields.map((each) => [each.spec.name, each.read()])); // before this preview
  const suggested = { ...state.choices.settings, ...plan.settings };
  state.fields = RATER_PAGE_SETTINGS.map((spec) => createField(spec, entered[spec.name] ?? suggested[spec.name]));
  state.fields
    .find((each) => each.spec.name === "show_as")
    .input.addEventListener("change", (event) => changePlan({ settings: { show_as: event.target.value } }));
  const node = card(
    "5. Set up the rater page",
    "You can change all of this later.",
    name.node,
    state.fields.map((each) => each.node),
    el(
      "p",
      null,
      button("Create study", () => createStudy(name.read()), { class: "primary", id: "create" }),
    ),
  );
  node.classList.add("settings");
  return node;
}

async function createStudy(name) {
  const entered = state.fields.map((each) => [each.spec.name, each.read()]);
  const settings = Object.fromEntries(entered.filter(([, value]) => value !== null && value !== false));
  const create = find("#create");
  create.disabled = true;
  replace(createStatus, el("p", { class: "muted" }, "Creating the study…"));
  try {
    const study = await call("POST", "/files/create", {
      form: formData({ ...state.plan, name, goal: state.goal, settings }),
    });
    location.assign(`/study/${study.id}#access`);
  } catch (error) {
    create.disabled = false;
    replace(createStatus, note("bad", describe(error)));
  }
}

try {
  await requireOwner();
  state.choices = await get("/choices");
  replace(main, uploadCard(), previewNode);
} catch (error) {
  replace(main, note("bad", describe(error)));
}
