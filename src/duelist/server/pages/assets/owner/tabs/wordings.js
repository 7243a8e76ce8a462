// The Wordings card of the Settings tab: texts of the owner in place of sentences of the rater page.
import { get } from "../../shared/api.js";
import { card, el, note, replace } from "../../shared/dom.js";
import { formOf } from "../forms.js";
import { describe } from "../messages.js";

const MOST_SHOWN = 12;
const FIRST = ["outcome.", "question.", "side.", "reason.label", "vote.hint"]; // what owners change most
const FIXED = ["language.name", "language.direction"];

export function wordingsCard(app, save) {
  const { settings } = app.study;
  const wordings = structuredClone(settings.wordings ?? {});
  const list = el("div");
  let sentences = [];
  const language = el(
    "select",
    { "aria-label": "Language of the wordings", onchange: () => load() },
    app.choices.languages.map(({ code, name }) =>
      el("option", { value: code, selected: code === (settings.language ?? "en") }, name),
    ),
  );
  const search = el("input", { type: "search", placeholder: "Find a sentence", "aria-label": "Find a sentence", dir: "auto", oninput: () => draw() });
  const change = (key, text) => {
    const own = { ...wordings[language.value] };
    if (text) own[key] = text;
    else delete own[key];
    if (Object.keys(own).length) wordings[language.value] = own;
    else delete wordings[language.value];
  };
  const load = async () => {
    try {
      sentences = Object.entries(await get(`/languages/${language.value}`)).filter(
        ([key, text]) => typeof text === "string" && !FIXED.includes(key),
      );
      draw();
    } catch (error) {
      replace(list, note("bad", describe(error)));
    }
  };
  const draw = () => {
    const wanted = search.value.trim().toLowerCase();
    const own = wordings[language.value] ?? {};
    const found = sentences.filter(([key, text]) => `${key} ${text} ${own[key] ?? ""}`.toLowerCase().includes(wanted));
    const isFirst = ([key]) => key in own || FIRST.some((prefix) => key.startsWith(prefix));
    const ordered = [...found.filter(isFirst), ...found.filter((each) => !isFirst(each))];
    replace(
      list,
      ordered.slice(0, MOST_SHOWN).map(([key, text]) =>
        el(
          "label",
          { class: "field", dir: "auto" },
          text,
          el("input", { type: "text", maxlength: 2000, dir: "auto", value: own[key] ?? "", placeholder: text, oninput: (event) => change(key, event.target.value.trim()) }),
        ),
      ),
      found.length > MOST_SHOWN && el("small", null, `and ${found.length - MOST_SHOWN} more: find them by a word`),
    );
  };
  load();
  const node = el("div", null, el("p", { class: "row" }, language, search), list);
  return card(
    "Wordings",
    "Say it in your words: your text replaces the sentence of the rater page. Keep the placeholders in braces.",
    formOf([{ node, spec: { name: "wordings", label: "Wordings" }, read: () => wordings }], save),
  );
}
