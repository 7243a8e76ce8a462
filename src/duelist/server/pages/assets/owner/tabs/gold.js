// The Gold pairs card of the Settings tab: pairs with a known vote, made by clicking two items.
import { get, post } from "../../shared/api.js";
import { append, button, card, el, note, replace, table } from "../../shared/dom.js";
import { itemIds, itemLabel, itemName } from "../../shared/item-names.js";
import { OUTCOMES } from "../forms.js";
import { describe } from "../messages.js";

const MOST_SHOWN = 24;

export function goldCard(app) {
  const list = el("div");
  const status = el("div", { role: "status" });
  const draw = ({ gold }) =>
    replace(
      list,
      gold.length
        ? table(
            "Gold pairs",
            ["first item", "second item", "correct vote", ""],
            gold.map((each) => [
              itemName(each.first),
              itemName(each.second),
              { first: "first", second: "second" }[each.outcome] ?? OUTCOMES[each.outcome],
              button("Remove", () => change("/gold/remove", { first: each.first, second: each.second }), {
                class: "small",
                "aria-label": `Remove ${itemLabel(each.first)} and ${itemLabel(each.second)}`,
              }),
            ]),
          )
        : el("p", { class: "muted" }, "No gold pairs yet. Click two items whose better one is obvious."),
    );
  const change = async (path, body) => {
    try {
      draw(await post(app.base + path, body));
      replace(status);
      return true;
    } catch (error) {
      replace(status, note("bad", describe(error)));
      return false;
    }
  };
  get(`${app.base}/gold`).then(draw, (error) => replace(status, note("bad", describe(error))));
  return card(
    "Gold pairs",
    "Pairs with a known correct vote. Each rater sees each of them once. They measure how reliable the raters are, and do not affect the results.",
    list,
    picker((first, second, outcome) => change("/gold", { first, second, outcome })),
    status,
  );
}

/** Items to click: the first two clicks choose the pair, then a button says its correct vote. */
function picker(add) {
  let chosen = [];
  const choices = el("div", { class: "picker", role: "group", "aria-label": "Items" });
  const verdict = el("div", { "aria-live": "polite" });
  const search = el("input", { type: "search", dir: "auto", "aria-label": "Find an item", placeholder: "Find an item", oninput: () => draw() });
  const toggle = (id) => {
    chosen = chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id].slice(-2);
    draw();
  };
  const decide = async (outcome) => {
    if (!(await add(...chosen, outcome))) return;
    chosen = [];
    draw();
  };
  const draw = () => {
    const wanted = search.value.trim().toLowerCase();
    const found = itemIds().filter((id) => itemLabel(id).toLowerCase().includes(wanted));
    const shown = [...new Set([...chosen, ...found])].slice(0, MOST_SHOWN);
    const focused = document.activeElement?.dataset.item;
    replace(
      choices,
      shown.map((id) => append(button(null, () => toggle(id), { "aria-pressed": String(chosen.includes(id)), "data-item": id }), itemName(id))),
      found.length > shown.length && el("small", null, `and ${found.length - shown.length} more: find them by their text`),
    );
    [...choices.querySelectorAll("[data-item]")].find((each) => each.dataset.item === focused)?.focus();
    const votes = [
      ["first", itemName(chosen[0])],
      ["second", itemName(chosen[1])],
      ["tie", "Tie"],
      ["both_bad", "Both bad"],
    ];
    replace(
      verdict,
      chosen.length === 2 && [
        el("p", null, "Which is better?"),
        el("p", { class: "row" }, votes.map(([outcome, name]) => append(button(null, () => decide(outcome), { "data-gold": outcome }), name))),
      ],
    );
  };
  draw();
  return el("div", null, el("h3", null, "Add a gold pair"), el("p", null, "Click two items. ", search), choices, verdict);
}
