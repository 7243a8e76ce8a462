// The "Access and data" tab: rater links, access tokens, exports, imports and copies.
import { call, get, post } from "../../shared/api.js";
import { speak, button, card, confirm, el, note, replace, table, truncated } from "../../shared/dom.js";
import { splitLines } from "../forms.js";
import { describe } from "../messages.js";

const formatDay = (time) => (time ? new Date(time).toLocaleDateString("en-GB", { dateStyle: "medium" }) : "never");
const ROLES = { admin: "manage", reader: "view", rater: "rate" };

export function accessTab(app) {
  const node = el("div", { class: "masonry" });
  const fill = async () => {
    app.choices ??= await get("/choices");
    const tokens = app.isAdmin && tokensCard(app);
    replace(
      node,
      app.isAdmin && linksCard(app, () => tokens.refresh()),
      app.isAdmin && shareCard(app, () => tokens.refresh()),
      exportCard(app),
      app.isAdmin && importCard(app),
      app.isServerAdmin && copyCard(app),
      tokens?.node,
    );
  };
  let filled = null;
  return { node, refresh: ({ live = false } = {}) => (live && filled ? null : (filled = fill())) };
}

/** A secret with a button to copy it. */
function secretField(text, label) {
  const input = el("input", {
    type: "text",
    readonly: true,
    value: text,
    "aria-label": label,
    onfocus: (event) => event.target.select(),
  });
  const copy = button(
    "Copy",
    async () => {
      input.select(); // pages on plain http have no clipboard: the user can copy the selection by keyboard
      await copyToClipboard(text, copy);
    },
    { class: "small" },
  );
  return el("div", { class: "row links" }, input, copy);
}

const copyToClipboard = (text, source) =>
  navigator.clipboard?.writeText(text).then(
    () => {
      source.textContent = "Copied";
      speak("Copied.");
    },
    () => {},
  );

/** A button that copies all links, as a spreadsheet or a mail merge takes them: name, tab, link on each line. */
function copyAllButton(links) {
  const text = links.map(({ rater, href }) => `${rater}\t${href}`).join("\n");
  const copy = button("Copy all with names", () => copyToClipboard(text, copy), { class: "small" });
  return navigator.clipboard && links.length > 1 && el("p", null, copy);
}

function linksCard(app, onCreated) {
  const result = el("div");
  const names = el("textarea", { id: "link-names", rows: 4, dir: "auto", placeholder: "ana\nben" });
  const days = el("input", { id: "link-days", type: "number", min: 1, placeholder: "no limit" });
  const create = async (event) => {
    event.preventDefault();
    try {
      const { links } = await post(`${app.base}/links`, {
        raters: splitLines(names.value),
        ...(days.value ? { days: Number(days.value) } : {}),
      });
      const absolute = links.map(({ rater, url }) => ({ rater, href: new URL(url, location.href).href }));
      replace(
        result,
        note("info", "Copy the links now: they are shown only once. Anyone with the link can vote under that name."),
        table(
          "Links",
          ["rater", "link"],
          absolute.map(({ rater, href }) => [truncated(rater), secretField(href, `Link for ${rater}`)]),
        ),
        copyAllButton(absolute),
      );
      onCreated();
    } catch (error) {
      replace(result, note("bad", describe(error)));
    }
  };
  const address = new URL(app.study.rate_url ?? `/rate/${app.id}`, location.href).href;
  return card(
    "Rater links",
    "Create a personal link for each rater and send it to them. The part after # is secret and never appears in server logs.",
    app.study.settings.open_registration &&
      note("info", "Anyone can join at ", el("a", { href: address }, address), "."),
    el(
      "form",
      { onsubmit: create },
      el("label", { for: "link-names" }, "Names of raters, one per line"),
      names,
      el(
        "p",
        { class: "row" },
        el("label", null, "Valid for (days)", days),
        el("button", { class: "primary" }, "Create links"),
      ),
    ),
    result,
  );
}

/** A link that shows the results to anyone who has it, without the right to change anything. */
function shareCard(app, onCreated) {
  const result = el("div", { role: "status" });
  const create = async () => {
    try {
      const { token } = await post(`${app.base}/tokens`, { scope: "reader", label: "shared results" });
      const address = new URL(`/signin?next=${encodeURIComponent(`/study/${app.id}`)}#${token}`, location.href).href;
      replace(result, note("info", "Copy the link now: it is shown only once."), secretField(address, "Link to the results"));
      onCreated();
    } catch (error) {
      replace(result, note("bad", describe(error)));
    }
  };
  return card(
    "Share the results",
    "Anyone with this link sees the results, raters and votes of this study, live, and can change nothing. To withdraw it, revoke “shared results” below.",
    button("Create a link to the results", create, { class: "primary" }),
    result,
  );
}

/** Access tokens of a study; of the whole server if `base` is empty. */
export function tokensCard({ base }) {
  const list = el("div");
  const status = el("div", { role: "status" });
  const nameOf = (token) => token.rater ?? token.label ?? token.id;
  const refresh = async () => {
    try {
      const { tokens } = await get(`${base}/tokens`);
      const active = tokens.filter((each) => !each.revoked && (base || each.study === null));
      replace(
        list,
        active.length
          ? table(
              base ? "Active links and tokens" : "Active tokens",
              ["name", "can", "created", "expires", ""],
              active.map((each) => [
                truncated(each.rater ?? each.label ?? "–"),
                ROLES[each.scope] ?? each.scope,
                formatDay(each.created_at),
                formatDay(each.expires_at),
                button("Revoke", () => revoke(each), {
                  class: "small",
                  "aria-label": `Revoke access of ${nameOf(each)}`,
                }),
              ]),
            )
          : el("p", { class: "muted" }, "No active tokens."),
      );
    } catch (error) {
      replace(status, note("bad", describe(error)));
    }
  };
  const revoke = async (token) => {
    const confirmed = await confirm(
      `Revoke access of ${nameOf(token)}?`,
      "The link or token stops working immediately. Votes are kept. You can create a new one at any time.",
      "Revoke",
    );
    if (!confirmed) return;
    try {
      await call("DELETE", `${base}/tokens/${token.id}`);
    } catch (error) {
      replace(status, note("bad", describe(error)));
    }
    await refresh();
  };
  const create = async (event) => {
    event.preventDefault();
    const values = new FormData(event.target);
    try {
      const created = await post(`${base}/tokens`, {
        scope: values.get("scope"),
        label: values.get("label").trim() || null,
      });
      replace(
        status,
        note("info", "Copy the token now: it is shown only once."),
        secretField(created.token, "Access token"),
      );
      await refresh();
    } catch (error) {
      replace(status, note("bad", describe(error)));
    }
  };
  refresh();
  const form = el(
    "form",
    { class: "row", onsubmit: create },
    el("label", null, "Description", el("input", { type: "text", name: "label", dir: "auto" })),
    el(
      "label",
      null,
      "Permission",
      el(
        "select",
        { name: "scope" },
        el("option", { value: "reader" }, base ? "view the study" : "view all studies"),
        el("option", { value: "admin" }, base ? "manage the study" : "manage all studies"),
      ),
    ),
    el("button", null, "Create token"),
  );
  const description = base
    ? "For people who view or manage this study, and for programs. You can revoke a token at any time."
    : "For people who view or manage all studies, and for programs. You can revoke a token at any time.";
  return { refresh, node: card("Access tokens", description, form, status, list) };
}

function exportCard(app) {
  const download = (path, name, description) =>
    el("li", null, el("a", { href: `/api/v1${path}`, download: "" }, name), " ", el("small", null, description));
  return card(
    "Export",
    "Votes in the formats of other tools, or the whole study. An archive has everything but links and access tokens, which are secrets.",
    !app.study.votes && note("info", "There are no votes yet, so files of votes have no rows."),
    el(
      "ul",
      null,
      app.choices.formats.map((each) =>
        download(`${app.base}/export/${encodeURIComponent(each.name)}`, each.name, each.summary),
      ),
      app.isAdmin &&
        download(`${app.base}/archive`, "archive", "the whole study in one file; restore it on the Studies page"),
      app.isServerAdmin && download("/backup", "backup", "all studies of this server, as an SQLite database"),
    ),
  );
}

/** Fields of a vote in a table, with what the page says of them. */
const VOTE_FIELDS = [
  ["left", "First item"],
  ["right", "Second item"],
  ["winner", "Winner"],
  ["rater", "Rater"],
  ["voted_at", "Time"],
  ["reason", "Reason"],
];
const HEADER_BYTES = 65536;

/** The column names of a CSV or TSV file; none for other files, whose columns the server reads. */
async function readHeader(file) {
  if (!/\.(csv|tsv)$/i.test(file.name)) return [];
  const line = (await file.slice(0, HEADER_BYTES).text()).replace(/^\ufeff/, "").split(/\r?\n/)[0];
  const delimiter = ["\t", ";", ","].find((each) => line.includes(each)) ?? ",";
  return line.split(delimiter).map((name) => name.trim().replace(/^"(.*)"$/, "$1"));
}

function columnMapping(header) {
  const select = (field, label) =>
    el(
      "select",
      { name: field, "aria-label": label },
      el("option", { value: "" }, "find by name"),
      header.map((name) => el("option", { value: name }, name)),
    );
  const selects = VOTE_FIELDS.map(([field, label]) => [field, label, select(field, label)]);
  return {
    node: el(
      "details",
      null,
      el("summary", null, "Which column is what?"),
      el("p", { class: "row" }, selects.map(([, label, each]) => el("label", null, label, each))),
    ),
    chosen: () => selects.filter(([, , each]) => each.value).map(([field, , each]) => `${field}=${each.value}`),
  };
}

function importCard(app) {
  const status = el("div", { role: "status" });
  const mappingHolder = el("div");
  let mapping = null;
  const offerMapping = async () => {
    const header = files.files.length ? await readHeader(files.files[0]) : [];
    mapping = header.length > 1 ? columnMapping(header) : null;
    replace(mappingHolder, mapping?.node);
    replace(status);
  };
  const files = el("input", { type: "file", "aria-label": "File with votes", onchange: offerMapping });
  const format = el(
    "select",
    { "aria-label": "Format" },
    el("option", { value: "" }, "detect the format"),
    app.choices.formats.filter((each) => each.read).map((each) => el("option", { value: each.name }, each.name)),
  );
  const importVotes = async () => {
    const [file] = files.files;
    if (!file) return replace(status, note("bad", "Choose a file first."));
    try {
      const parameters = new URLSearchParams({
        filename: file.name,
        timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
        ...(format.value ? { format: format.value } : {}),
      });
      for (const each of mapping?.chosen() ?? []) parameters.append("column", each);
      const { added, duplicates } = await call("POST", `${app.base}/import?${parameters}`, {
        raw: file,
        headers: { "Content-Type": "application/octet-stream" },
      });
      replace(
        status,
        note("good", `${added} ${added === 1 ? "vote" : "votes"} imported, ${duplicates} already in the study.`),
      );
    } catch (error) {
      const isMissing = mapping && error.code === "invalid_input.column_missing";
      if (isMissing) mapping.node.open = true;
      replace(status, note("bad", isMissing ? `${error.message} Choose the columns above.` : describe(error)));
    }
  };
  return card(
    "Import votes",
    "Votes that are already in the study are not counted twice. Items may be named by id or by text, and the winner by its side, as A or B, or by name. Times without a time zone are in yours.",
    el("p", { class: "row" }, files, format, button("Import", importVotes)),
    mappingHolder,
    status,
  );
}

function copyCard(app) {
  const status = el("div", { role: "status" });
  const copy = async (event) => {
    event.preventDefault();
    try {
      const made = await post(`${app.base}/copy`, { name: event.target.name.value.trim() });
      replace(status, note("good", "Copied to ", el("a", { href: `/study/${made.id}`, dir: "auto" }, made.name), "."));
    } catch (error) {
      replace(status, note("bad", describe(error)));
    }
  };
  return card(
    "Copy this study",
    "The copy has the same items, votes and settings.",
    el(
      "form",
      { class: "row", onsubmit: copy },
      el("label", null, "Name of the copy", el("input", { type: "text", name: "name", dir: "auto", required: true })),
      el("button", null, "Copy"),
    ),
    status,
  );
}
