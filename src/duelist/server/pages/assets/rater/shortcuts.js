// Keys of the rater's page, the help that lists them, and the guidelines. Single letters can be switched off: they are in the way of
// people who speak to their computer.
import { content } from "../shared/content.js";
import { button, el } from "../shared/dom.js";

const KEY = "duelist-keys";
export const keysAreOn = () => {
  try {
    return localStorage.getItem(KEY) !== "off";
  } catch {
    return true;
  }
};

/** The action of a key, unless it is meant for something else: a field, a dialog, a scrolled box, a combination. */
export function pressed(event, actions) {
  const target = event.target instanceof Element ? event.target : document.body;
  const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (!keysAreOn() && name !== "?") return null;
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return null;
  if (target.closest("dialog, input, textarea, select, video, audio")) return null;
  // Arrows scroll a box that was reached with the Tab key.
  if (name.startsWith("Arrow") && target.closest("pre, .scroll") && target.matches(":focus-visible")) return null;
  return Object.hasOwn(actions, name) ? actions[name] : null;
}

function dialog(title, ...children) {
  const box = el(
    "dialog",
    { "aria-labelledby": "dialog-title" },
    el("h2", { id: "dialog-title" }, title),
    children,
    el(
      "p",
      { class: "buttons" },
      button("Close", () => box.close(), { class: "primary", autofocus: true }),
    ),
  );
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
}

export function help(offered, reason) {
  const rows = [
    ["←", "left is better"],
    ["→", "right is better"],
    offered.includes("tie") && ["↓", "tie: both are equally good"],
    offered.includes("both_bad") && ["b", "both are bad"],
    offered.includes("skip") && ["s", "skip: no answer"],
    ["u", "undo: take the last answer back"],
    reason && ["r", "write why"],
    ["g", "guidelines"],
    ["p", "play or pause both, where there is sound or film"],
    ["h", "hear the other side"],
    ["?", "this help"],
  ];
  const box = el("input", {
    type: "checkbox",
    checked: keysAreOn(),
    onchange: (event) => {
      try {
        localStorage.setItem(KEY, event.target.checked ? "on" : "off");
      } catch {
        /* only as long as the page is open */
      }
    },
  });
  dialog(
    "Keys",
    el(
      "dl",
      { class: "keys" },
      rows.filter(Boolean).map(([key, text]) => [el("dt", null, el("kbd", null, key)), el("dd", null, text)]),
    ),
    el("label", null, box, " Answer with keys"),
  );
}

export function showGuidelines(text) {
  if (text) dialog("Guidelines", content([{ type: "markdown", text }]));
}
