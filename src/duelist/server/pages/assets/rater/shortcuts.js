// Keyboard shortcuts, the dialog that lists them, and the guidelines. Shortcuts can be switched off, for users of speech input.
import { renderBlocks } from "../shared/content.js";
import { button, el } from "../shared/dom.js";

const KEY = "duelist-shortcuts";
const areEnabled = () => {
  try {
    return localStorage.getItem(KEY) !== "off";
  } catch {
    return true;
  }
};

/** The action of a key press; null if the key belongs to a field, a dialog, a scrolling frame or a key combination. */
export function actionFor(event, actions) {
  const target = event.target instanceof Element ? event.target : document.body;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (!areEnabled() && key !== "?") return null;
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return null;
  if (target.closest("dialog, input, textarea, select, video, audio")) return null;
  // Arrow keys scroll a frame that has the keyboard focus.
  if (key.startsWith("Arrow") && target.closest("pre, .scroll") && target.matches(":focus-visible")) return null;
  return Object.hasOwn(actions, key) ? actions[key] : null;
}

function showDialog(title, onClose, ...children) {
  const dialog = el(
    "dialog",
    { "aria-labelledby": "dialog-title" },
    el("h2", { id: "dialog-title" }, title),
    children,
    el(
      "p",
      { class: "buttons" },
      button("Close", () => dialog.close(), { class: "primary", autofocus: true }),
    ),
  );
  const openedAt = performance.now();
  dialog.addEventListener("close", () => {
    dialog.remove();
    onClose(performance.now() - openedAt);
  });
  document.body.append(dialog);
  dialog.showModal();
}

/** Show the shortcuts for the outcomes that the study offers; `onClose` gets the milliseconds for which they were open. */
export function showShortcuts(offered, asksReason, onClose) {
  const rows = [
    ["←", "Left is better"],
    ["→", "Right is better"],
    offered.includes("tie") && ["↓", "Tie: both are equally good"],
    offered.includes("both_bad") && ["b", "Both are bad"],
    offered.includes("skip") && ["s", "Skip this pair"],
    ["u", "Undo the last vote"],
    asksReason && ["r", "Write a reason"],
    ["g", "Show the guidelines"],
    ["p", "Play or pause both sides"],
    ["h", "Switch the sound to the other side"],
    ["?", "Show this help"],
  ];
  const checkbox = el("input", {
    type: "checkbox",
    checked: areEnabled(),
    onchange: (event) => {
      try {
        localStorage.setItem(KEY, event.target.checked ? "on" : "off");
      } catch {
        /* Storage is disabled: shortcuts stay on. */
      }
    },
  });
  showDialog(
    "Keyboard shortcuts",
    onClose,
    el(
      "dl",
      { class: "shortcuts" },
      rows.filter(Boolean).map(([key, text]) => [el("dt", null, el("kbd", null, key)), el("dd", null, text)]),
    ),
    el("label", null, checkbox, " Use keyboard shortcuts"),
  );
}

export function showGuidelines(text, onClose) {
  if (text) showDialog("Guidelines", onClose, renderBlocks([{ type: "markdown", text }]));
}
