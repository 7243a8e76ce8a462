// DOM helpers. Data enters the page only as text nodes and attributes; nothing here parses HTML, so user content cannot become an element.

const SVG = "http://www.w3.org/2000/svg";
const MATHML = "http://www.w3.org/1998/Math/MathML";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  append(node, children);
  return node;
}

/** Append nodes, texts and numbers, in lists of any depth; null, undefined and false are skipped. */
export function append(node, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
  return node;
}

export const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
export const mathml = (tag, attributes, ...children) =>
  fill(document.createElementNS(MATHML, tag), attributes, children);
export const find = (selector, within = document) => within.querySelector(selector);

export function replace(node, ...children) {
  node.replaceChildren();
  return append(node, ...children);
}

/** A user-given name: truncated by CSS, shown in full on hover, on focus and to screen readers. */
export function truncated(text, attributes = {}) {
  return el("span", { class: "truncated", dir: "auto", title: text, ...attributes }, text);
}

export function button(text, onclick, attributes = {}) {
  return el("button", { type: "button", onclick, ...attributes }, text);
}

/** An inline message; `kind` is info, good, warn or bad. */
export const note = (kind, ...children) => el("p", { class: `note ${kind}` }, children);

/** A titled section with a sentence about what it is for. */
export const card = (title, description, ...children) =>
  el(
    "section",
    { class: "card", "aria-label": title },
    el("h2", null, title),
    el("p", { class: "description" }, description),
    children,
  );

/** A frame that scrolls a wide table sideways, reachable by keyboard. */
export const scrollable = (label, ...children) =>
  el("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": label }, children);

/** The head of a table; `isNumeric(column)` says which columns are right-aligned. */
export const headerRow = (headers, isNumeric = () => false) =>
  el(
    "thead",
    null,
    el(
      "tr",
      null,
      headers.map((header, k) => el("th", { scope: "col", class: isNumeric(k) ? "right" : null }, header)),
    ),
  );

/** A table with a caption. The first column names the row; numeric cells are right-aligned. */
export function table(caption, headers, rows, { label = caption, ...attributes } = {}) {
  const numeric = (cell) =>
    typeof cell === "number" || (cell instanceof Node && cell.dataset && "number" in cell.dataset) ? "number" : null;
  return scrollable(
    label,
    el(
      "table",
      attributes,
      el("caption", null, caption),
      headerRow(headers, (k) => rows.length > 0 && k > 0 && numeric(rows[0][k])),
      el(
        "tbody",
        null,
        rows.map((row) =>
          el(
            "tr",
            null,
            row.map((cell, k) =>
              k === 0 ? el("th", { scope: "row" }, cell) : el("td", { class: numeric(cell) }, cell),
            ),
          ),
        ),
      ),
    ),
  );
}

/** A formatted number, right-aligned in tables like a plain one. */
export const number = (text) => el("span", { class: "number", "data-number": true }, text);

/** Send a message to screen readers. */
export function speak(text) {
  const region =
    find("#live-region") ??
    document.body.appendChild(
      el("div", { id: "live-region", class: "visually-hidden", role: "status", "aria-live": "polite" }),
    );
  region.textContent = text;
}

/** Show a modal dialog and resolve to whether it was confirmed. */
function ask(title, content, confirmButton) {
  return new Promise((resolve) => {
    const dialog = el(
      "dialog",
      { "aria-labelledby": "dialog-title" },
      el("h2", { id: "dialog-title" }, title),
      content,
      el(
        "p",
        { class: "buttons" },
        button("Cancel", () => dialog.close("")),
        confirmButton,
      ),
    );
    confirmButton.addEventListener("click", () => dialog.close("yes"));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Ask before a destructive action; with `typed`, the user has to type that text first. Resolves to true or false. */
export function confirm(title, consequence, verb, typed = null) {
  const input = typed && el("input", { type: "text", autocomplete: "off", "aria-label": `Type ${typed} to confirm` });
  const confirmButton = button(verb, null, { class: "danger", disabled: Boolean(typed) });
  input?.addEventListener("input", () => {
    confirmButton.disabled = input.value !== typed;
  });
  return ask(
    title,
    [
      el("p", null, consequence),
      typed && el("p", null, "Type ", el("b", { dir: "auto" }, typed), " to confirm: ", input),
    ],
    confirmButton,
  );
}

/** Ask for a text; resolves to it, or to null if the user cancels. */
export async function promptText(title, description, value) {
  const input = el("textarea", { "aria-label": title, dir: "auto" }, value);
  const confirmed = await ask(title, [el("p", null, description), input], button("Save", null, { class: "primary" }));
  return confirmed ? input.value.trim() : null;
}
