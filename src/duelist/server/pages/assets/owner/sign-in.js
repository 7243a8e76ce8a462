// Signing in with a key: it is sent once, for a cookie that scripts cannot read.
import { sentenceOf, signIn, signInByLink } from "../shared/api.js";
import { el, find, replace } from "../shared/dom.js";

/** Where to go then: a page of this server and nothing else. */
function target() {
  const wanted = new URLSearchParams(location.search).get("next") ?? "/";
  const address = new URL(wanted, location.origin);
  return address.origin === location.origin && wanted.startsWith("/") ? address.pathname + address.hash : "/";
}

const token = el("input", { type: "password", id: "token", autocomplete: "current-password", required: true });
const said = el("div", { role: "alert" });
const enter = async (signingIn) => {
  try {
    const session = await signingIn;
    if (session) location.replace(session.scope === "rater" ? `/rate/${session.study}` : target());
  } catch (error) {
    replace(said, el("p", { class: "note bad" }, sentenceOf(error)));
    token.focus();
  }
};
const onsubmit = (event) => {
  event.preventDefault();
  enter(signIn(token.value.trim()));
};
replace(
  find("#main"),
  el(
    "section",
    { class: "card" },
    el("h2", null, "Your key"),
    el(
      "p",
      { class: "about" },
      "“duelist serve” prints a link with one when it starts; the person who runs a study can make more. Raters need none: they open the link that they were sent.",
    ),
    el(
      "form",
      { onsubmit },
      el("label", { for: "token" }, "Key"),
      el("div", { class: "row" }, token, el("button", { class: "primary" }, "Sign in")),
      said,
    ),
  ),
);
token.focus();
await enter(signInByLink()); // the link that `duelist serve` prints
