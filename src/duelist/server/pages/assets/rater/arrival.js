// How people without a personal link enter a study, and how everybody leaves it.
import { ApiError, post, register } from "../shared/api.js";
import { button, el, replace, speak } from "../shared/dom.js";
import { say } from "../shared/sentences.js";
import { describeForRater, invitationOnly, screen, screenFor, welcomeFor } from "./messages.js";

const MAX_PARAMETERS = 20; // limits of the server
const MAX_NAME = 100;
const MAX_VALUE = 500;
const IS_PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"; // what Mechanical Turk sends before a worker has accepted the task

/** The parameters of the address that the server stores. */
export function urlParameters() {
  const isShort = ([name, value]) => name.length > 0 && name.length <= MAX_NAME && value.length <= MAX_VALUE;
  return Object.fromEntries([...new URLSearchParams(location.search)].filter(isShort).slice(0, MAX_PARAMETERS));
}

/** Store the parameters of the address with a rater who has a link or a session. */
export async function recordArrival(study) {
  const parameters = urlParameters();
  if (Object.keys(parameters).length) await post(`/studies/${study}/arrive`, { parameters });
}

/** Let visitors without a valid link enter, if the study is open to everyone. `error` says why they have none. */
export async function showEntry(study, error, showText, onEntered) {
  const parameters = urlParameters();
  if (error.isA("owner")) return showText(screen("owner"));
  if (parameters.assignmentId === IS_PREVIEW) return showText(screen("preview"));
  const entry = await post(`/studies/${study}/entry`, { parameters });
  if (!entry.is_open_to_anyone) return showText(invitationOnly(error));
  if (!entry.may_enter) return showText(screenFor(new ApiError(409, { code: "study_not_open" })));
  if (entry.departure) return showDeparture(entry.departure, showText);
  if (entry.needs_participant) return showText(screen("participant_missing"));
  const name = el("input", { name: "name", autocomplete: "nickname", maxlength: 100, dir: "auto" });
  const problem = el("div", { role: "alert" });
  const enter = async (event) => {
    event.preventDefault();
    try {
      await register(study, name.value.trim(), parameters);
      await onEntered();
    } catch (failure) {
      if (failure.isA?.("study_full")) showText(screen("study_full"));
      else replace(problem, el("p", null, describeForRater(failure)));
    }
  };
  const [title, text] = welcomeFor(error);
  return showText(
    [title, entry.asks_name ? text : say("welcome.ready")],
    el(
      "form",
      { onsubmit: enter },
      entry.asks_name && [
        el("label", null, say("welcome.name"), name),
        el("small", null, say("welcome.any_name")),
      ],
      problem,
      el("p", { class: "buttons" }, el("button", { class: "primary" }, say("welcome.start"))),
    ),
  );
}

/** How participation ended, with the completion code and the way back. */
export function showDeparture({ kind, code, redirect }, showText) {
  const copy = button(
    say("departure.copy"),
    () =>
      navigator.clipboard.writeText(code).then(
        () => {
          copy.textContent = say("departure.copied");
          speak(say("departure.copied"));
        },
        () => {},
      ),
    { class: "small" },
  );
  showText(
    screen(kind === "full" ? "study_full" : kind),
    code &&
      el(
        "p",
        { class: "completion-code" },
        el("span", { class: "muted", id: "completion-code-label" }, say("departure.code")),
        el("output", { "aria-labelledby": "completion-code-label", dir: "ltr" }, code),
        navigator.clipboard && copy, // pages on plain http have none
      ),
    redirect?.startsWith("https://") &&
      el(
        "p",
        null,
        el(
          "a",
          { class: "button primary", href: redirect, target: "_top", rel: "noreferrer" },
          say("departure.return"),
        ),
      ),
  );
}
