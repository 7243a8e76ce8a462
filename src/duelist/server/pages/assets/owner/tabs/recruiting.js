// The Recruiting card of the Settings tab: how participants of a service arrive, and where they go at the end.
import { card, el, note, replace, speak } from "../../shared/dom.js";
import { savedTag, splitLines } from "../forms.js";
import { describe } from "../messages.js";

const ENDINGS = [
  ["completed", "Completed", "After the last pair."],
  ["screened_out", "Screened out", "Blocked, or not eligible."],
  ["timed_out", "Timed out", "Idle for too long, and others took the place."],
  ["full", "Full", "All places were taken on arrival."],
];

const field = (label, input, help) =>
  el("div", { class: "field" }, el("label", null, label, input), help && el("small", { class: "muted" }, help));
const text = (name, value, attributes = {}) =>
  el("input", { type: "text", name, value: value ?? "", dir: "auto", ...attributes });
const number = (name, value, step) =>
  el("input", { type: "number", name, value: value ?? "", min: step, step, placeholder: "no limit" });
const textOf = (values, name) => values.get(name).trim() || null;
const numberOf = (values, name) => (values.get(name) === "" ? null : Number(values.get(name)));

/** The address to give to a service, with its placeholders for the parameters that it sends. */
export function addressFor(address, service, participant) {
  const names = service?.participant === participant ? service.parameters : participant ? [participant] : [];
  const placeholder = (name) => (service?.name === "prolific" ? `{{%${name}%}}` : "…");
  return names.length ? `${address}?${names.map((name) => `${name}=${placeholder(name)}`).join("&")}` : address;
}

export function recruitingCard(app, save) {
  const { recruiting, open_registration: isOpen } = app.study.settings;
  const services = app.choices.services;
  const address = new URL(app.study.rate_url ?? `/rate/${app.id}`, location.href).href;
  const status = el("div", { role: "status" });
  const shown = el("code", { class: "address" });
  const open = el("input", { type: "checkbox", name: "open", checked: isOpen });
  const askName = el("input", { type: "checkbox", name: "ask_name", checked: recruiting.ask_name });
  const participant = text("participant", recruiting.participant, { placeholder: "none", oninput: () => showAddress() });
  const service = el(
    "select",
    { name: "service", onchange: () => fillIn() },
    el("option", { value: "" }, "none, or another one"),
    services.map((each) =>
      el("option", { value: each.name, selected: each.participant === recruiting.participant }, each.label),
    ),
  );
  const chosen = () => services.find((each) => each.name === service.value);
  const showAddress = () => {
    askName.disabled = participant.value.trim() !== ""; // nobody without the id can enter
    shown.textContent = addressFor(address, chosen(), participant.value.trim());
  };
  const endings = ENDINGS.map(([name, label, help]) =>
    el(
      "fieldset",
      null,
      el("legend", null, label),
      el("small", { class: "muted" }, help),
      field("Code", text(`${name}.code`, recruiting[name].code)),
      field(
        "Address to return to",
        text(`${name}.redirect`, recruiting[name].redirect, { placeholder: "https://…", dir: "ltr" }),
      ),
    ),
  );
  const form = el(
    "form",
    { class: "settings", novalidate: true },
    el("div", { class: "field" }, el("label", null, open, " Anyone who opens the rater page can join")),
    el("div", { class: "field" }, el("label", null, askName, " Ask for a name")),
    field("Recruiting service", service, "Fills in the fields below."),
    field(
      "URL parameter with the participant's id",
      participant,
      "The id becomes the rater's name. People without it cannot enter.",
    ),
    el("p", null, "Address for participants: ", shown),
    field("Places", number("places", recruiting.places, 1), "People who drop out free their place."),
    field("Idle time in minutes", number("idle_minutes", recruiting.idle_minutes, "any"), "After it, a place is free."),
    el(
      "details",
      { open: ENDINGS.some(([name]) => recruiting[name].code ?? recruiting[name].redirect) },
      el("summary", null, "Codes and addresses at the end"),
      el(
        "small",
        { class: "muted" },
        "In the query of an address, {code} is the code and {NAME} the participant's URL parameter NAME.",
      ),
      endings,
    ),
    field(
      "Sites that may show the rater page in a frame, one per line",
      el("textarea", { name: "embed_in", rows: 2, placeholder: "https://…" }, recruiting.embed_in.join("\n")),
    ),
    el("p", null, el("button", { class: "primary" }, "Save")),
    status,
  );
  const fillIn = () => {
    const found = chosen();
    if (found) {
      participant.value = found.participant;
      open.checked = true;
      for (const [name] of ENDINGS) {
        const redirect = form.elements[`${name}.redirect`];
        if (found.redirect && !redirect.value) redirect.value = found.redirect;
        else if (!found.redirect && services.some((each) => each.redirect === redirect.value)) redirect.value = "";
      }
      form.querySelector("details").open = true;
    }
    showAddress();
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const values = new FormData(form);
    const changed = {
      participant: textOf(values, "participant"),
      ask_name: askName.checked,
      places: numberOf(values, "places"),
      idle_minutes: numberOf(values, "idle_minutes"),
      embed_in: splitLines(values.get("embed_in")),
    };
    for (const [name] of ENDINGS)
      changed[name] = { code: textOf(values, `${name}.code`), redirect: textOf(values, `${name}.redirect`) };
    for (const each of form.querySelectorAll("[aria-invalid]")) each.removeAttribute("aria-invalid");
    try {
      await save({ open_registration: open.checked, recruiting: changed });
      form.dispatchEvent(new Event("saved", { bubbles: true }));
      replace(status, savedTag());
      speak("Saved.");
    } catch (error) {
      const wrong = form.elements[error.field?.replace(/^(settings\.)?recruiting\./, "")];
      wrong?.setAttribute?.("aria-invalid", "true");
      wrong?.focus?.();
      replace(status, note("bad", describe(error)));
    }
  });
  showAddress();
  return card(
    "Recruiting",
    "How people without a personal link arrive, and what they get at the end. URL parameters are stored with the rater and exported with the votes.",
    form,
  );
}
