// Errors in sentences for raters, by the code of the error. Raters never see the server's own messages.
import { byCode } from "../shared/api.js";

const SENTENCES = {
  network: "There is no connection to the server.",
  too_many_requests: "There were too many requests. Please wait a moment.",
  not_signed_in: "Please open the full link from your invitation.",
  token_unknown: "This link is no longer valid. Please ask the person who sent it for a new one.",
  not_allowed: "This link does not give access to this page.",
  name_taken: "This name is already in use. Please choose another one.",
  invalid_input: "This was not accepted. Please reload the page and try again.",
  study_not_open: "This study is not open right now.",
  rater_blocked: "This study is no longer open to you.",
  limit_reached: "No more votes are needed.",
  no_pairs_left: "You have compared every pair.",
  nothing_to_ask: "There is no pair to compare right now.",
  vote_conflict: "This pair was not assigned to you.",
  "vote_conflict.contradiction": "Another vote for this pair was saved before.",
  "vote_conflict.rater_blocked": "This study is no longer open to you.",
  "vote_conflict.study_not_open": "This study has ended and accepts no more votes.",
  unknown_duel: "This pair is no longer part of the study.",
  unknown_arm: "This pair is no longer part of the study.",
  unknown_study: "There is no study at this address. Please check your link.",
  too_large: "The text is too long.",
};

const BY_STATUS = {
  401: SENTENCES.token_unknown,
  403: SENTENCES.not_allowed,
  413: SENTENCES.too_large,
  429: SENTENCES.too_many_requests,
};

/** An error in one sentence or two for a rater. */
export function describeForRater(error) {
  const sentence = byCode(SENTENCES, error) ?? BY_STATUS[error.status];
  if (sentence) return sentence;
  return error.status >= 500
    ? "The server is not available right now."
    : "Something went wrong. Please reload the page.";
}

// Title and text of the page when there is no pair to show.
const SCREENS = {
  no_pairs_left: ["You have finished. Thank you!", "You have compared every pair."],
  limit_reached: ["You have finished. Thank you!", "No more votes are needed."],
  nothing_to_ask: [
    "No pairs right now",
    "Other people are rating the remaining pairs. This page checks for new ones automatically.",
  ],
  study_not_open: [
    "This study is not open right now",
    "This page checks again automatically. You can also come back later.",
  ],
  rater_blocked: [
    "This study is no longer open to you",
    "If you think this is a mistake, please contact the person who invited you.",
  ],
  token_unknown: [
    "Your link is no longer valid",
    "Please ask the person who invited you for a new one. Votes that are not saved yet stay in this browser.",
  ],
  unknown_study: ["Study not found", "Please check the link that you opened."],
};
const FINAL = ["no_pairs_left", "limit_reached", "rater_blocked"];

/** Title and text to show instead of a pair. */
export function screenFor(error) {
  return (
    byCode(SCREENS, error) ??
    (error.status === 401
      ? SCREENS.token_unknown
      : ["No pairs right now", `${describeForRater(error)} This page tries again automatically.`])
  );
}

/** Whether there will be no further pair for this rater. */
export const isFinal = (error) => FINAL.some((each) => error.isA(each));

/** Title and text for visitors without a valid link. */
export const WELCOME = {
  not_signed_in: ["Welcome", "Enter your name to start."],
  token_unknown: [
    "This link is no longer valid",
    "Please ask the person who invited you for a new one. If the study is open to everyone, you can also enter your name to start.",
  ],
  owner: [
    "This page is for raters",
    "You are signed in as an owner of the study. To rate pairs yourself, create a link with your name in the tab “Access and data”.",
  ],
};

/** Title and text for visitors who tried to join a study without open registration. */
export const INVITATION_ONLY = {
  not_signed_in: [
    "This study is by invitation only",
    "This link is incomplete; please use the full link from your invitation.",
  ],
  token_unknown: [
    "This study is by invitation only",
    "Your link is no longer valid. Please ask the person who invited you for a new one.",
  ],
};
