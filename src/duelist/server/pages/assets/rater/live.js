// Live comparison: the rater writes a prompt, two systems answer it, and their names are shown after the vote.
import { get, post } from "../shared/api.js";
import { el, note } from "../shared/dom.js";
import { say } from "../shared/sentences.js";
import { sideName } from "./sides.js";

const MAX_PROMPT = 20_000;

/** What the rater has compared, once the vote is saved; null if there is nothing to show. */
async function comparedSystems(study, duel) {
  if (!duel) return null;
  const { first, second } = await get(`/studies/${study}/live/${duel}`);
  const name = (text) => el("strong", { dir: "auto" }, text);
  const sides = [`${sideName(0)}: `, name(first), ` · ${sideName(1)}: `, name(second)];
  return note("ok", `${say("live.compared")} `, ...sides);
}

/** A form for the next prompt, below the systems of the last pair; `show` gets the new pair, `describe` puts an error in words. */
export async function promptForm(study, votedDuel, { show, describe }) {
  const compared = await comparedSystems(study, votedDuel);
  const input = el("textarea", { name: "prompt", required: true, maxlength: MAX_PROMPT, rows: 4, dir: "auto" });
  const submit = el("button", { class: "primary" }, say("live.button"));
  const status = el("p", { role: "status" });
  const ask = async (event) => {
    event.preventDefault();
    if (submit.disabled) return;
    submit.disabled = true;
    status.textContent = say("live.waiting");
    try {
      show(await post(`/studies/${study}/live`, { prompt: input.value.trim() }));
    } catch (error) {
      status.textContent = describe(error);
      submit.disabled = false;
    }
  };
  return el(
    "div",
    null,
    compared,
    el("h2", null, say("live.title")),
    el("p", null, say("live.text")),
    el(
      "form",
      { onsubmit: ask },
      el("label", null, say("live.prompt"), input),
      el("small", null, say("live.stored")),
      el("p", { class: "buttons" }, submit),
      status,
    ),
  );
}
