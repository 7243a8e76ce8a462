// Building blocks of every page. Data reaches the page as text nodes and attributes only: nothing here parses HTML,
// so that nothing a rater, an arm or a file says can become an element.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  append(node, children);
  return node;
}

/** Children may be nodes, texts, numbers, lists of them, or nothing. */
export function append(node, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
  return node;
}

export const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
export const find = (selector, within = document) => within.querySelector(selector);

export function replace(node, ...children) {
  node.replaceChildren();
  return append(node, ...children);
}

/** A name that somebody gave: cut short by the style sheet, whole on hover, on focus and for screen readers. */
export function named(text, attributes = {}) {
  return el("span", { class: "named", dir: "auto", title: text, ...attributes }, text);
}

export function button(text, onclick, attributes = {}) {
  return el("button", { type: "button", onclick, ...attributes }, text);
}

/** A table with a caption; a cell is a text or a node, numbers go to the right. Its first column names the row. */
export function table(caption, headers, rows, { label = caption, ...attributes } = {}) {
  const numeric = (cell) =>
    typeof cell === "number" || (cell instanceof Node && cell.dataset && "number" in cell.dataset) ? "number" : null;
  return el(
    "div",
    { class: "scroll", tabindex: 0, role: "group", "aria-label": label },
    el(
      "table",
      attributes,
      el("caption", null, caption),
      el(
        "thead",
        null,
        el(
          "tr",
          null,
          headers.map((header, k) =>
            el("th", { scope: "col", class: rows.length && numeric(rows[0][k]) && k ? "right" : null }, header),
          ),
        ),
      ),
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

/** Numbers keep their column straight even where they are written as text. */
export const number = (text) => el("span", { class: "number", "data-number": true }, text);

/** Say something to people who do not see the page. */
export function announce(text) {
  const region =
    find("#announcer") ??
    document.body.appendChild(el("div", { id: "announcer", class: "unseen", role: "status", "aria-live": "polite" }));
  region.textContent = text;
}

/** Ask before what cannot be undone; resolves to what was typed, true, or false. */
export function confirm(question, consequence, yes, typed = null) {
  return new Promise((resolve) => {
    const input = typed && el("input", { type: "text", autocomplete: "off", "aria-label": `Type ${typed} to go on` });
    const go = button(yes, () => dialog.close("yes"), { class: "danger", disabled: Boolean(typed) });
    const dialog = el(
      "dialog",
      { class: "ask", "aria-labelledby": "question" },
      el("h2", { id: "question" }, question),
      el("p", null, consequence),
      typed && el("p", null, "Type ", el("b", { dir: "auto" }, typed), " to go on: ", input),
      el(
        "p",
        { class: "buttons" },
        button("Cancel", () => dialog.close("")),
        go,
      ),
    );
    input?.addEventListener("input", () => {
      go.disabled = input.value !== typed;
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Ask for a text; resolves to it, or to null if nothing is to change. */
export function askFor(question, about, value) {
  return new Promise((resolve) => {
    const input = el("textarea", { "aria-label": question, dir: "auto" }, value);
    const dialog = el(
      "dialog",
      { class: "ask", "aria-labelledby": "question" },
      el("h2", { id: "question" }, question),
      el("p", null, about),
      input,
      el(
        "p",
        { class: "buttons" },
        button("Cancel", () => dialog.close("")),
        button("Save", () => dialog.close("yes"), { class: "primary" }),
      ),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes" ? input.value.trim() : null);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
