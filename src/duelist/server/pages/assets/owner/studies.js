// The list of studies.
import { call, get, requireOwner, signOut } from "../shared/api.js";
import { button, card, el, find, note, number, replace, table, truncated } from "../shared/dom.js";
import { goalLabel, STATES } from "./forms.js";
import { describe } from "./messages.js";
import { tokensCard } from "./tabs/access.js";

const main = find("#main");

async function show(isServerAdmin, withArchived = false) {
  const { studies } = await get(`/studies?archived=${withArchived}`);
  const rows = studies.map((study) => [
    el("a", { href: `/study/${study.id}` }, truncated(study.name)),
    STATES[study.state][0],
    goalLabel(study.settings.goal),
    number(study.arms.toLocaleString("en")),
    number(study.votes.toLocaleString("en")),
    new Date(study.created_at).toLocaleDateString("en-GB", { dateStyle: "medium" }),
  ]);
  const archived = el("input", {
    type: "checkbox",
    checked: withArchived,
    onchange: () => show(isServerAdmin, archived.checked),
  });
  replace(
    main,
    el(
      "p",
      { class: "row" },
      isServerAdmin && el("a", { class: "button primary", href: "/new" }, "New study"),
      el("span", { class: "grow" }),
      el("label", { class: "inline" }, archived, " Show archived studies"),
      button("Sign out", async () => {
        await signOut();
        location.assign("/signin");
      }),
    ),
    el(
      "section",
      { class: "card", "aria-label": "Studies" },
      rows.length
        ? table("Studies, oldest first", ["study", "state", "goal", "items", "votes", "created"], rows, {
            class: "studies",
          })
        : el("p", null, "No studies yet.", isServerAdmin && " Create one from a file: it takes a minute."),
    ),
    isServerAdmin && restoreCard(),
    isServerAdmin && tokensCard({ base: "" }).node,
  );
}

function restoreCard() {
  const status = el("div", { role: "status" });
  const file = el("input", { type: "file", accept: ".duelist", "aria-label": "Archive" });
  const name = el("input", { type: "text", dir: "auto", placeholder: "name in the archive" });
  const restore = async () => {
    if (!file.files.length) return;
    const chosen = name.value.trim();
    try {
      const study = await call("POST", `/studies/restore${chosen ? `?name=${encodeURIComponent(chosen)}` : ""}`, {
        raw: file.files[0],
        headers: { "Content-Type": "application/octet-stream" },
      });
      location.assign(`/study/${study.id}`);
    } catch (error) {
      replace(status, note("bad", describe(error)));
    }
  };
  return card(
    "Restore a study",
    "Upload an archive (.duelist) to restore a study with all its items, votes, raters and settings. Links and access tokens are secrets and not in it: create new ones in “Access and data”.",
    el("p", { class: "row" }, file, el("label", null, "Name", name), button("Restore", restore)),
    status,
  );
}

try {
  const session = await requireOwner();
  await show(session.scope === "admin" && session.study === null);
} catch (error) {
  replace(main, note("bad", describe(error)));
}
