// The preview of a pair: question, sides, reasons and buttons, as the settings say.
import { el } from "../../shared/dom.js";
import { say } from "../../shared/sentences.js";

export function pairPreview(flow, study, answers) {
  const { question, ask_reason: asksReason } = study.settings;
  const label = { first: "outcome.left", second: "outcome.right", tie: "outcome.tie", both_bad: "outcome.both_bad", skip: "outcome.skip" };
  const own = study.settings.wordings[study.settings.language ?? "en"] ?? {};
  const order = ["first", "tie", "both_bad", "skip", "second"].filter((each) => answers.includes(each));
  return el(
    "div",
    null,
    el("h2", { class: "question", dir: "auto" }, question ?? say("question.default")),
    el(
      "div",
      { class: "pair" },
      ["left", "right"].map((side, k) =>
        el("article", { class: `card side ${k ? "second" : "first"}` }, el("h3", null, say(`side.${side}`)), el("div", null, "…")),
      ),
    ),
    asksReason && [
      el("div", { class: "chips" }, flow.reasons.map((reason) => el("span", { class: "tag" }, reason))),
      el("label", { class: "reason" }, say(flow.reason_required ? "reason.label_required" : "reason.label"), el("textarea", { readonly: true })),
    ],
    el("div", { class: "criterion" }, order.map((each) => el("button", { type: "button", class: each, tabindex: -1 }, own[label[each]] ?? say(label[each])))),
  );
}
