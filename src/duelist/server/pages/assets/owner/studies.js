// All studies that this key may see.
import { call, get, owner, sentenceOf, signOut } from "../shared/api.js";
import { button, el, find, named, number, replace, table } from "../shared/dom.js";
import { GOAL_NAMES } from "./forms.js";
import { keysCard } from "./tabs/access.js";

const main = find("#main");
const STATES = { open: "open", paused: "paused", ended: "ended", archived: "put away" };

async function show(everything, away = false) {
  const { studies } = await get(`/studies?put_away=${away}`);
  const rows = studies.map((study) => [
    el("a", { href: `/study/${study.id}` }, named(study.name)),
    STATES[study.state],
    GOAL_NAMES[study.settings.goal] ?? "–",
    number(study.arms.toLocaleString("en")),
    number(study.votes.toLocaleString("en")),
    new Date(study.created_at).toLocaleDateString("en-GB", { dateStyle: "medium" }),
  ]);
  const box = el("input", { type: "checkbox", checked: away, onchange: () => show(everything, box.checked) });
  replace(
    main,
    el(
      "p",
      { class: "row" },
      everything && el("a", { class: "button primary", href: "/new" }, "New study"),
      el("span", { class: "grow" }),
      el("label", { class: "inline" }, box, " also those put away"),
      button("Sign out", async () => {
        await signOut();
        location.assign("/signin");
      }),
    ),
    el(
      "section",
      { class: "card", "aria-label": "Studies" },
      rows.length
        ? table("Studies, oldest first", ["study", "state", "goal", "arms", "votes", "made"], rows, {
            class: "studies",
          })
        : el("p", null, "There is no study yet. ", everything && "Make one from a file: it takes a minute."),
    ),
    everything && restoring(),
    everything && keysCard({ base: "" }).node,
  );
}

function restoring() {
  const said = el("div", { role: "status" });
  const file = el("input", { type: "file", accept: ".duelist", "aria-label": "Archive" });
  const name = el("input", { type: "text", dir: "auto", placeholder: "as in the archive" });
  const restore = async () => {
    if (!file.files.length) return;
    try {
      const made = await call(
        "POST",
        `/studies/restore${name.value.trim() ? `?name=${encodeURIComponent(name.value.trim())}` : ""}`,
        { raw: file.files[0], headers: { "Content-Type": "application/octet-stream" } },
      );
      location.assign(`/study/${made.id}`);
    } catch (error) {
      replace(said, el("p", { class: "note bad" }, sentenceOf(error)));
    }
  };
  return el(
    "section",
    { class: "card", "aria-label": "From an archive" },
    el("h2", null, "From an archive"),
    el("p", { class: "about" }, "A file that “archive” made: the study comes back as it was, to the bit."),
    el("p", { class: "row" }, file, el("label", null, "Name", name), button("Restore", restore)),
    said,
  );
}

try {
  const session = await owner();
  await show(session.scope === "admin" && session.study === null);
} catch (error) {
  replace(main, el("p", { class: "note bad" }, sentenceOf(error)));
}
