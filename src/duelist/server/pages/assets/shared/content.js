// What raters are shown: blocks of text, Markdown, code, pictures, sound and film. The server sends data, never markup.
import { el } from "./dom.js";
import { markdown } from "./markdown.js";

const SHOWN = {
  text: (block) => el("div", { class: "plain" }, block.text),
  markdown: (block) => el("div", null, markdown(block.text)),
  code: (block) =>
    el("pre", { tabindex: 0, dir: "ltr", "aria-label": block.language || "code" }, el("code", null, block.text)),
  message: (block) =>
    el("div", { class: "turn" }, el("b", null, block.role), el("div", { dir: "auto" }, markdown(block.text))),
  image: (block) =>
    el(
      "button",
      { type: "button", class: "zoom", "data-zoom": block.src, "aria-label": `Enlarge: ${block.alt || "image"}` },
      el("img", { src: local(block.src), alt: block.alt || "" }),
    ),
  audio: (block) =>
    el("audio", { src: local(block.src), controls: true, preload: "auto", "aria-label": block.alt || "sound" }),
  video: (block) =>
    el("video", {
      src: local(block.src),
      controls: true,
      preload: "auto",
      playsinline: true,
      "aria-label": block.alt || "film",
    }),
  local: (block) => el("img", { src: URL.createObjectURL(block.file), alt: block.file.name }),
  link: (block) =>
    el(
      "p",
      null,
      el(
        "a",
        { href: safe(block.href), rel: "noopener noreferrer nofollow", target: "_blank" },
        block.text || block.href,
      ),
    ),
};

/** Files come from this server, whatever a block says. */
const local = (src) => (String(src).startsWith("/") && !String(src).startsWith("//") ? src : null);
const safe = (href) => (/^https?:\/\//i.test(href) ? href : null);

export function content(blocks) {
  return el(
    "div",
    { class: "content", dir: "auto" },
    (blocks ?? []).map((block) =>
      SHOWN[Object.hasOwn(SHOWN, block.type) ? block.type : "text"]({ ...block, text: String(block.text ?? "") }),
    ),
  );
}

/** One line of what an arm is, for tables. */
export function gist(blocks) {
  const first = (blocks ?? [])[0];
  return first ? String(first.text || first.alt || first.src || "") : "";
}

/** Have the browser fetch what the next pair will show. */
export function warm(blocks) {
  for (const block of blocks ?? []) if (block.type === "image" && local(block.src)) new Image().src = block.src;
}
