// The dashboard of one study. A tab loads its data when it is opened, and stays current while it is visible.
import { get, requireOwner, studyIdFromAddress } from "../shared/api.js";
import { el, find, note, replace } from "../shared/dom.js";
import { loadItemNames } from "../shared/item-names.js";
import { STATES } from "./forms.js";
import { describe } from "./messages.js";
import { accessTab } from "./tabs/access.js";
import { itemsTab } from "./tabs/items.js";
import { ratersTab } from "./tabs/raters.js";
import { diagnosticsTab, pairsTab, resultsTab } from "./tabs/results.js";
import { settingsTab } from "./tabs/settings.js";
import { votesTab } from "./tabs/votes.js";

const MIN_INTERVAL = 2000; // milliseconds between two refreshes, however fast votes arrive

const id = studyIdFromAddress();
/** What every tab needs. */
const app = {
  id,
  base: `/studies/${id}`,
  study: null,
  isAdmin: false,
  isServerAdmin: false,
  choices: null,
  filters: {},
  systems: [],
  categories: [],
  refreshStudy,
  query,
};

/** The query string for the filters of the dashboard and additional parameters; lists repeat their name. */
function query(parameters = {}) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...app.filters, ...parameters }))
    for (const each of [value].flat()) if (each) search.append(name, each);
  const text = search.toString();
  return text ? `?${text}` : "";
}

const TABS = [
  ["results", "Results", resultsTab],
  ["pairs", "Pairs", pairsTab],
  ["diagnostics", "Diagnostics", diagnosticsTab],
  ["raters", "Raters", ratersTab],
  ["votes", "Votes", votesTab],
  ["items", "Items", itemsTab],
  ["access", "Access and data", accessTab],
  ["settings", "Settings", settingsTab],
];
const UNFILTERED = ["items", "access", "settings"];
let tabs = TABS; // those that this user may open
const openTabs = new Map();

function currentTab() {
  const name = location.hash.slice(1).split("/")[0];
  return tabs.some(([each]) => each === name) ? name : "results";
}

function showTab() {
  const name = currentTab();
  if (!openTabs.has(name)) {
    const tab = tabs.find(([each]) => each === name)[2](app);
    openTabs.set(name, tab);
    find("#tab-content").append(tab.node);
  }
  for (const [each, tab] of openTabs) tab.node.hidden = each !== name;
  for (const link of document.querySelectorAll("#tabs a")) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  find("#filters").hidden = UNFILTERED.includes(name);
  return openTabs.get(name).refresh();
}

let scheduled = null;
let lastRefresh = 0;

function scheduleRefresh() {
  scheduled ??= setTimeout(
    async () => {
      scheduled = null;
      lastRefresh = Date.now();
      if (!document.hidden) await openTabs.get(currentTab())?.refresh({ live: true });
    },
    Math.max(0, lastRefresh + MIN_INTERVAL - Date.now()),
  );
}

let events = null;

/** Receive changes while the page is visible: browsers allow few connections per server, and other tabs need some. */
function listen() {
  events?.close();
  events = null;
  if (document.hidden) return;
  events = new EventSource(`/api/v1${app.base}/events`);
  events.addEventListener("change", (event) => {
    const { votes, duels, arms, pending, state, name } = JSON.parse(event.data);
    const hasNewItems = arms !== app.study.arms;
    Object.assign(app.study, { votes, duels, arms, pending, state, name });
    updateTitle();
    if (hasNewItems) loadNames().then(scheduleRefresh);
    else scheduleRefresh();
  });
  events.onopen = () => {
    find("#live").textContent = "live";
  };
  events.onerror = () => {
    find("#live").textContent = "Connection lost, reconnecting…";
    // The browser reconnects by itself after a lost connection, but not after an error response.
    if (events?.readyState === EventSource.CLOSED) setTimeout(listen, 5 * MIN_INTERVAL);
  };
}

function updateTitle() {
  const [word, color] = STATES[app.study.state];
  document.title = `${app.study.name} · duelist`;
  find("#title").textContent = app.study.name;
  find("#state").textContent = word;
  find("#state").className = `tag ${color}`;
}

/** Names only make ids readable: the dashboard works without them. */
const loadNames = () => loadItemNames(app.base).catch(() => {});

async function refreshStudy() {
  app.study = { ...app.study, ...(await get(app.base)) };
  updateTitle();
  return app.study;
}

/** Choose prompt or context, category, what is ranked, criterion, and whether excluded votes count. */
function showFilters({ contexts, systems, categories }) {
  const { criteria } = app.study.settings;
  const set = (name, value) => {
    app.filters[name] = value;
    showTab();
  };
  const select = (label, name, options) =>
    el(
      "label",
      null,
      label,
      el(
        "select",
        { onchange: (event) => set(name, event.target.value) },
        options.map(([value, text]) => el("option", { value }, text)),
      ),
    );
  const everyone = el("input", {
    type: "checkbox",
    onchange: (event) => set("everyone", event.target.checked ? "true" : ""),
  });
  replace(
    find("#filters"),
    systems.length > 0 &&
      select("Compare", "by", [
        ["", "Systems"],
        ["item", "Single answers"],
      ]),
    categories.length > 1 &&
      select("Category", "category", [["", "All categories"], ...categories.map((each) => [each, each])]),
    contexts.length > 1 &&
      select(systems.length ? "Prompt" : "Context", "context", [
        ["", systems.length ? "All prompts" : "All contexts"],
        ...contexts.slice(0, 2000).map((each) => [each.name, each.name]),
      ]),
    criteria.length > 1 &&
      select(
        "Criterion",
        "criterion",
        criteria.map((name, k) => [k ? name : "", name]),
      ),
    raterFilter(set),
    el("label", { class: "inline" }, everyone, " Include excluded votes"),
  );
}

/** A condition on an attribute of raters; the options of the questionnaire are suggested. */
function raterFilter(set) {
  const { questions } = app.study.settings.flow;
  if (!questions.length || !app.isAdmin) return null; // what raters answered is for owners
  const suggested = questions.flatMap(({ name, kind, options }) =>
    kind === "choice" ? options.map((each) => `${name} = ${each}`) : [`${name} >= `],
  );
  return el(
    "label",
    null,
    "Raters",
    el("input", { type: "search", list: "conditions", placeholder: "all", onchange: (event) => set("where", event.target.value.trim()) }),
    el("datalist", { id: "conditions" }, suggested.map((each) => el("option", { value: each }))),
  );
}

try {
  const session = await requireOwner();
  app.isAdmin = session.scope === "admin";
  app.isServerAdmin = app.isAdmin && session.study === null;
  await refreshStudy();
  tabs = TABS.filter(([name]) => app.isAdmin || name !== "settings");
  replace(
    find("#tabs"),
    tabs.map(([name, text]) => el("a", { href: `#${name}` }, text)),
  );
  listen();
  document.addEventListener("visibilitychange", () => {
    listen();
    if (!document.hidden) scheduleRefresh();
  });
  await loadNames();
  const contexts = app.study.arms ? await get(`${app.base}/contexts`) : { contexts: [], systems: [], categories: [] };
  Object.assign(app, { systems: contexts.systems, categories: contexts.categories });
  showFilters(contexts);
  addEventListener("hashchange", showTab); // from now on: a tab that opens before all is loaded would be filled twice, and lose input
  await showTab();
} catch (error) {
  replace(
    find("#notice"),
    note("bad", error.isA?.("unknown_study") ? "There is no study at this address." : describe(error)),
    el("p", null, el("a", { href: "/" }, "All studies")),
  );
}
