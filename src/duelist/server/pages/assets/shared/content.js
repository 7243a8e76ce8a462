// What an item shows: blocks of text, Markdown, code, images, audio and video. The server sends data, never markup.
import { el } from "./dom.js";
import { markdown } from "./markdown.js";
import { has, say } from "./sentences.js";

const roleName = (role) => (has(`role.${role}`) ? say(`role.${role}`) : role);

const RENDERERS = {
  text: (block) => el("div", { class: "plain" }, block.text),
  markdown: (block) => el("div", null, markdown(block.text)),
  code: (block) =>
    el("pre", { tabindex: 0, dir: "ltr", "aria-label": block.language || say("content.code") }, el("code", null, block.text)),
  message: (block) =>
    el("div", { class: "turn" }, el("b", { dir: "auto" }, roleName(block.role)), el("div", { dir: "auto" }, markdown(block.text))),
  image: (block) =>
    el(
      "button",
      { type: "button", class: "zoom", "data-zoom": block.src, "aria-label": say("zoom.open", { name: block.alt || say("content.image") }) },
      el("img", { src: sameOrigin(block.src), alt: block.alt || "" }),
    ),
  audio: (block) =>
    el("audio", { src: sameOrigin(block.src), controls: true, preload: "auto", "aria-label": block.alt || say("content.audio") }),
  video: (block) =>
    el("video", {
      src: sameOrigin(block.src),
      controls: true,
      preload: "auto",
      playsinline: true,
      "aria-label": block.alt || say("content.video"),
    }),
  localFile: (block) => el("img", { src: URL.createObjectURL(block.file), alt: block.file.name }),
  link: (block) =>
    el(
      "p",
      null,
      el(
        "a",
        { href: webAddress(block.href), rel: "noopener noreferrer nofollow", target: "_blank" },
        block.text || block.href,
      ),
    ),
};

/** Media is loaded from this server only, whatever a block says. */
const sameOrigin = (src) => (String(src).startsWith("/") && !String(src).startsWith("//") ? src : null);
const webAddress = (href) => (/^https?:\/\//i.test(href) ? href : null);

export function renderBlocks(blocks) {
  return el(
    "div",
    { class: "content", dir: "auto" },
    (blocks ?? []).map((block) =>
      RENDERERS[Object.hasOwn(RENDERERS, block.type) ? block.type : "text"]({
        ...block,
        text: String(block.text ?? ""),
      }),
    ),
  );
}

/** Load the images of blocks that will be shown next. */
export function preloadImages(blocks) {
  for (const block of blocks ?? []) if (block.type === "image" && sameOrigin(block.src)) new Image().src = block.src;
}
