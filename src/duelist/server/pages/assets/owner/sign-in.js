// Sign in with an access token. It is sent once, in exchange for a cookie that scripts cannot read.
import { signIn, signInFromLink } from "../shared/api.js";
import { card, el, find, note, replace } from "../shared/dom.js";
import { describe } from "./messages.js";

/** The page to go to after signing in: only pages of this server are accepted. */
function destination() {
  const next = new URLSearchParams(location.search).get("next") ?? "/";
  const url = new URL(next, location.origin);
  // The whole address: the path of "/.//example.org" is "//example.org", which leads to another server.
  return url.origin === location.origin && next.startsWith("/") ? url.href : "/";
}

const input = el("input", { type: "password", id: "token", autocomplete: "current-password", required: true });
const problem = el("div", { role: "alert" });
const enter = async (signingIn) => {
  try {
    const session = await signingIn;
    if (session) location.replace(session.scope === "rater" ? `/rate/${session.study}` : destination());
  } catch (error) {
    replace(problem, note("bad", describe(error)));
    input.focus();
  }
};
const onsubmit = (event) => {
  event.preventDefault();
  enter(signIn(input.value.trim()));
};
replace(
  find("#main"),
  card(
    "For owners",
    "The server prints a sign-in link when it starts, and owners can create access tokens for others. Raters do not sign in: they open the link from their invitation.",
    el(
      "form",
      { onsubmit },
      el("label", { for: "token" }, "Access token"),
      el("div", { class: "row" }, input, el("button", { class: "primary" }, "Sign in")),
      problem,
    ),
  ),
);
input.focus();
await enter(signInFromLink()); // the link that `duelist serve` prints
