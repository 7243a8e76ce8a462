// Keyboard shortcuts, the dialog that lists them, and the guidelines. Shortcuts can be switched off, for users of speech input.
import { renderBlocks } from "../shared/content.js";
import { button, el } from "../shared/dom.js";
import { say } from "../shared/sentences.js";
import { isBetter } from "./sides.js";

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
      button(say("button.close"), () => dialog.close(), { class: "primary", autofocus: true }),
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
    ["←", isBetter(0)],
    ["→", isBetter(1)],
    offered.includes("tie") && ["↓", say("shortcuts.tie")],
    offered.includes("both_bad") && ["b", say("shortcuts.both_bad")],
    offered.includes("skip") && ["s", say("shortcuts.skip")],
    ["u", say("shortcuts.undo")],
    asksReason && ["r", say("shortcuts.reason")],
    ["g", say("shortcuts.guidelines")],
    ["p", say("shortcuts.play")],
    ["h", say("shortcuts.sound")],
    ["j l", say("shortcuts.seek")],
    ["?", say("shortcuts.help")],
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
    say("shortcuts.title"),
    onClose,
    el(
      "dl",
      { class: "shortcuts" },
      rows.filter(Boolean).map(([key, text]) => [el("dt", null, el("kbd", null, key)), el("dd", null, text)]),
    ),
    el("label", null, checkbox, " ", say("shortcuts.enable")),
  );
}

export function showGuidelines(text, onClose) {
  if (text) showDialog(say("guidelines.title"), onClose, renderBlocks([{ type: "markdown", text }]));
}
