// Errors and screens in sentences for raters, by the code of the error. Raters never see the server's own messages.
import { keyOf, say } from "../shared/sentences.js";

const BY_STATUS = {
  401: "error.token_unknown",
  403: "error.not_allowed",
  413: "error.too_large",
  429: "error.too_many_requests",
};

/** An error in one sentence or two for a rater. */
export function describeForRater(error) {
  return say(keyOf(error, "error.") ?? BY_STATUS[error.status] ?? (error.status >= 500 ? "error.server" : "error.other"));
}

const FINAL = ["no_pairs_left", "limit_reached", "rater_blocked", "participation_ended"];

/** Whether there will be no further pair for this rater. */
export const isFinal = (error) => FINAL.some((each) => error.isA(each));

/** Title and text of a screen without a pair. */
export const screen = (name, values) => [say(`screen.${name}.title`), say(`screen.${name}.text`, values)];

/** Title and text to show instead of a pair. */
export function screenFor(error) {
  const key = keyOf(error, "screen.", ".title");
  if (key) return [say(key), say(key.replace(/title$/, "text"))];
  return error.status === 401 ? screen("token_unknown") : screen("other", { error: describeForRater(error) });
}

/** Title and text for visitors who are not signed in as raters. */
export const welcomeFor = (error) =>
  screen(error.isA("owner") ? "owner" : error.isA("token_unknown") ? "welcome_back" : "welcome");

/** Title and text for visitors who tried to join a study without open registration. */
export const invitationOnly = (error) =>
  screen(error.isA("token_unknown") ? "invitation_expired" : "invitation_only");
