// Errors in sentences for owners. The server's messages are for programs; where the page has its own words, they are here, by code.
import { byCode } from "../shared/api.js";

const SENTENCES = {
  network: "The server cannot be reached. Check your connection and try again.",
  csrf: "Your session has changed. Reload the page.",
  not_signed_in: "Sign in first.",
  token_unknown: "This access token is not valid: it is unknown, expired or revoked. Ask an owner for a new one.",
  not_allowed: "Your access token does not allow this. Sign in with another one.",
  too_many_requests: "There were too many requests. Wait a moment and try again.",
  too_large: "The file is too large. Split it, or raise the upload limit of the server.",
  stopping: "The server is restarting. Try again in a moment.",
  internal: "The server failed. Its log has the details.",
  storage_locked: "The database is busy. Try again in a moment.",
  connection_lost: "The database cannot be reached. Try again in a moment.",
  "nothing_to_ask.too_few_arms": "There are not enough active items. Add some in the Items tab.",
};

const HINTS = {
  study_not_open: "Open it in the Settings tab.",
  limit_reached: "Raise the limit in the Settings tab.",
  rater_blocked: "Reinstate the rater in the Raters tab.",
  unknown_arm: "Check the Items tab.",
  unknown_rater: "Check the Raters tab.",
  unknown_study: "Go back to the list of studies.",
  unknown_token: "Reload the page.",
  study_exists: "Choose another name.",
};

/** What went wrong and how to fix it. */
export function describe(error) {
  const sentence = byCode(SENTENCES, error);
  if (sentence) return sentence;
  const hint = byCode(HINTS, error) ?? error.hint;
  return hint ? `${error.message} ${hint}` : error.message;
}
