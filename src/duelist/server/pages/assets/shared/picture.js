// Pictures, with a button to enlarge them. Media is loaded from this server only, whatever a block says.
import { el, svg } from "./dom.js";
import { say } from "./sentences.js";

export const sameOrigin = (src) => (String(src).startsWith("/") && !String(src).startsWith("//") ? src : null);

const ARROWS = "M9 3H3v6M15 3h6v6M9 21H3v-6M15 21h6v-6";

export function picture(src, alt) {
  return el(
    "span",
    { class: "picture" },
    el("img", { src: sameOrigin(src), alt: alt || "" }),
    el(
      "button",
      { type: "button", class: "zoom", "data-zoom": src, "aria-label": say("zoom.open", { name: alt || say("content.image") }) },
      svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: ARROWS })),
    ),
  );
}
