// What comes between and after the pairs: reasons to click, required reasons, breaks, and the owner's thanks.
import { button, el, find, replace, speak } from "../../shared/dom.js";
import { markdown } from "../../shared/markdown.js";
import { say } from "../../shared/sentences.js";

/** Buttons with reasons; one adds its text to the reason, or removes it. */
export function reasonChips(reasons) {
  const input = find("#reason");
  const parts = () => input.value.split(";").map((each) => each.trim()).filter(Boolean);
  const chips = reasons.map((reason) =>
    button(
      reason,
      () => {
        input.value = (parts().includes(reason) ? parts().filter((each) => each !== reason) : [...parts(), reason]).join("; ");
        update();
      },
      { class: "small chip", "aria-pressed": "false", dir: "auto" },
    ),
  );
  const update = () =>
    chips.forEach((chip, k) => chip.setAttribute("aria-pressed", String(parts().includes(reasons[k]))));
  replace(find("#reason-chips"), chips);
  find("#reason-chips").hidden = !chips.length;
  if (chips.length) find("#reason-chips").setAttribute("aria-labelledby", "reason-text");
  input.addEventListener("input", update);
  return update;
}

/** Whether a vote lacks the reason that the study requires; then the field says so. */
export function lacksReason(isRequired, outcomes) {
  const input = find("#reason");
  const lacks = isRequired && !input.value.trim() && !Object.values(outcomes).every((each) => each === "skip");
  find("#reason-problem").textContent = lacks ? say("reason.required") : "";
  if (lacks) input.focus();
  return lacks;
}

const breakText = (count, go) =>
  el("div", null, el("h2", null, say("break.title")), el("p", null, say("break.text", { count })), el("p", null, go));

/** A pause after so many votes. */
export function breakScreen(count, onContinue) {
  const go = button(say("step.continue"), onContinue, { class: "primary" });
  speak(say("break.title"));
  queueMicrotask(() => go.focus());
  return breakText(count, go);
}

/** The owner's thanks, at the end. */
export const thanksOf = (flow) => flow.thanks && el("div", { class: "content thanks", dir: "auto" }, markdown(flow.thanks));

/** The break and the end, as owners preview them: nothing takes the focus from their form. */
export const laterScreens = (flow) =>
  [
    flow.break_every && ["break", (done) => breakText(flow.break_every, button(say("step.continue"), done, { class: "primary" }))],
    flow.thanks && ["thanks", () => el("div", null, el("h2", null, say("screen.completed.title")), thanksOf(flow))],
  ].filter(Boolean);
