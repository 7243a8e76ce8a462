// What an item shows: blocks of text, Markdown, code, images, audio and video. The server sends data, never markup.
import { el } from "./dom.js";
import { highlight } from "./highlight.js";
import { markdown } from "./markdown.js";
import { picture, sameOrigin } from "./picture.js";
import { has, say } from "./sentences.js";

const roleName = (role) => (has(`role.${role}`) ? say(`role.${role}`) : role);

const RENDERERS = {
  text: (block) => el("div", { class: "plain" }, block.text),
  markdown: (block) => el("div", null, markdown(block.text, block.images)),
  code: (block) =>
    el("pre", { tabindex: 0, dir: "ltr", "aria-label": block.language || say("content.code") }, el("code", null, highlight(block.text, block.language))),
  message: (block) =>
    el("div", { class: "turn" }, el("b", { dir: "auto" }, roleName(block.role)), el("div", { dir: "auto" }, markdown(block.text, block.images))),
  image: (block) => picture(block.src, block.alt),
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

const webAddress = (href) => (/^https?:\/\//i.test(href) ? href : null);

const BRIEF = 160; // characters: a single text up to this length is shown larger
const isBrief = (blocks) =>
  blocks?.length === 1 && blocks[0].type === "text" && blocks[0].text.length <= BRIEF && !blocks[0].text.includes("\n");

export function renderBlocks(blocks) {
  return el(
    "div",
    { class: isBrief(blocks) ? "content brief" : "content", dir: "auto" },
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
  for (const { type, src, images } of blocks ?? [])
    for (const each of type === "image" ? [src] : (images ?? [])) if (sameOrigin(each)) new Image().src = each;
}
