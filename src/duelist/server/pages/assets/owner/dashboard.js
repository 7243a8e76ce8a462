// The dashboard: one study, in parts that are read when they are looked at and kept up to date while they are.
import { get, owner, sentenceOf, studyHere } from "../shared/api.js";
import { armsPart } from "./tabs/items.js";
import { el, find, replace } from "../shared/dom.js";
import { ownerPart } from "./tabs/settings.js";
import { peoplePart } from "./tabs/raters.js";
import { pairsPart, resultsPart, trustPart } from "./tabs/results.js";
import { sharingPart } from "./tabs/access.js";
import { votesPart } from "./tabs/votes.js";

const OFTEN = 2000; // however fast votes come, what is shown is read again no more often than this

const id = studyHere();
const here = {
  id,
  base: `/studies/${id}`,
  study: null,
  admin: false,
  everything: false,
  choices: null,
  scope: {},
  refreshStudy,
  query,
  goTo,
};

/** The question mark and what follows it: what all readings are narrowed to, and more. */
function query(more = {}) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...here.scope, ...more })) if (value) parameters.set(name, value);
  const text = parameters.toString();
  return text ? `?${text}` : "";
}

const PARTS = [
  ["results", "Results", resultsPart],
  ["pairs", "Pairs", pairsPart],
  ["trust", "Trust", trustPart],
  ["raters", "Raters", peoplePart],
  ["votes", "Votes", votesPart],
  ["arms", "Arms", armsPart],
  ["sharing", "Links and files", sharingPart],
  ["run", "Run the study", ownerPart],
];
const built = new Map();

function goTo(name) {
  location.hash = name;
}

function chosen() {
  const name = location.hash.slice(1).split("/")[0];
  return PARTS.some(([each]) => each === name) ? name : "results";
}

function show() {
  const name = chosen();
  if (!built.has(name)) {
    const part = PARTS.find(([each]) => each === name)[2](here);
    built.set(name, part);
    find("#sections").append(part.node);
  }
  for (const [each, part] of built) part.node.hidden = each !== name;
  for (const link of document.querySelectorAll("#tabs a")) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  find("#scope").hidden = ["arms", "sharing", "run"].includes(name);
  return built.get(name).refresh();
}

let due = null;
let last = 0;

/** Read what is looked at again, soon. */
function stale() {
  due ??= setTimeout(
    async () => {
      due = null;
      last = Date.now();
      if (!document.hidden) await built.get(chosen())?.refresh({ live: true });
    },
    Math.max(0, last + OFTEN - Date.now()),
  );
}

let source = null;

/** Hear of changes while the page is looked at: browsers have few connections to one server, and other tabs want some. */
function listen() {
  source?.close();
  source = null;
  if (document.hidden) return;
  source = new EventSource(`/api/v1${here.base}/events`);
  source.addEventListener("change", (event) => {
    const { votes, duels, arms, out, state, name } = JSON.parse(event.data);
    Object.assign(here.study, { votes, duels, arms, out, state, name });
    title();
    stale();
  });
  source.onopen = () => {
    find("#live").textContent = "live";
  };
  source.onerror = () => {
    find("#live").textContent = "connection lost, trying again";
    // A refusal ends a stream for good, a lost connection does not.
    if (source?.readyState === EventSource.CLOSED) setTimeout(listen, 5 * OFTEN);
  };
}

const STATES = {
  open: ["open", "good"],
  paused: ["paused", "warn"],
  ended: ["ended", "warn"],
  archived: ["put away", "warn"],
};

function title() {
  const [word, colour] = STATES[here.study.state];
  document.title = `${here.study.name} · duelist`;
  find("#title").textContent = here.study.name;
  find("#state").textContent = word;
  find("#state").className = `tag ${colour}`;
}

async function refreshStudy() {
  here.study = { ...here.study, ...(await get(here.base)) };
  title();
  return here.study;
}

/** Which context, which question, whose votes. */
async function scopes() {
  const { contexts } = here.study.arms ? await get(`${here.base}/contexts`) : { contexts: [] };
  const select = (label, name, options) =>
    el(
      "label",
      null,
      label,
      el(
        "select",
        {
          onchange: (event) => {
            here.scope[name] = event.target.value;
            show();
          },
        },
        options.map(([value, text]) => el("option", { value }, text)),
      ),
    );
  const { criteria } = here.study.settings;
  replace(
    find("#scope"),
    contexts.length > 1 &&
      select("Context", "context", [
        ["", "all contexts"],
        ...contexts.slice(0, 2000).map((each) => [each.name, each.name]),
      ]),
    criteria.length > 1 &&
      select(
        "Question",
        "criterion",
        criteria.map((name, k) => [k ? name : "", name]),
      ),
    el(
      "label",
      { class: "inline" },
      el("input", {
        type: "checkbox",
        onchange: (event) => {
          here.scope.everyone = event.target.checked ? "true" : "";
          show();
        },
      }),
      " count raters who were dropped, too",
    ),
  );
}

try {
  const session = await owner();
  here.admin = session.scope === "admin";
  here.everything = here.admin && session.study === null;
  await refreshStudy();
  const parts = PARTS.filter(([name]) => here.admin || !["run"].includes(name));
  replace(
    find("#tabs"),
    parts.map(([name, text]) => el("a", { href: `#${name}` }, text)),
  );
  addEventListener("hashchange", show);
  listen();
  document.addEventListener("visibilitychange", () => {
    listen();
    if (!document.hidden) stale();
  });
  await Promise.all([scopes(), show()]);
} catch (error) {
  replace(
    find("#notice"),
    el("p", { class: "note bad" }, error.code === "unknown_study" ? "There is no study at this address." : sentenceOf(error)),
    el("p", null, el("a", { href: "/" }, "All studies")),
  );
}
