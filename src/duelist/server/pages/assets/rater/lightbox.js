// Enlarged images. Switching sides keeps position and size, so that details can be compared.
import { button, el } from "../shared/dom.js";
import { say } from "../shared/sentences.js";
import { sideName } from "./sides.js";

/** Open the images of a pair. `sources` has one list per side; `side` and `index` select the image to show first. */
export function openLightbox(sources, { side, index }) {
  let zoom = 1;
  const image = el("img", { alt: "" });
  const frame = el("div", { class: "frame", tabindex: 0, role: "group", "aria-label": say("zoom.label") }, image);
  const title = el("h2", { id: "lightbox-title", "aria-live": "polite" });
  const otherSide = button(`${say("zoom.other")} (o)`, () => switchSide());
  const dialog = el(
    "dialog",
    { class: "lightbox", "aria-labelledby": "lightbox-title" },
    el(
      "div",
      { class: "row" },
      title,
      otherSide,
      button(`${say("zoom.out")} (−)`, () => zoomBy(0.8)),
      button(`${say("zoom.in")} (+)`, () => zoomBy(1.25)),
      button(`${say("button.close")} (Esc)`, () => dialog.close()),
    ),
    frame,
  );
  const show = () => {
    title.textContent = sideName(side);
    image.src = sources[side][Math.min(index, sources[side].length - 1)];
    otherSide.hidden = !sources[1 - side].length;
  };
  const switchSide = () => {
    if (!sources[1 - side].length) return;
    side = 1 - side;
    show();
  };
  const zoomBy = (factor) => {
    const center = [
      (frame.scrollLeft + frame.clientWidth / 2) / zoom,
      (frame.scrollTop + frame.clientHeight / 2) / zoom,
    ];
    zoom = Math.min(8, Math.max(1, zoom * factor));
    image.style.width = `${100 * zoom}%`;
    frame.scrollTo(center[0] * zoom - frame.clientWidth / 2, center[1] * zoom - frame.clientHeight / 2);
  };
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "o") switchSide();
    else if (event.key === "+" || event.key === "=") zoomBy(1.25);
    else if (event.key === "-") zoomBy(0.8);
    event.stopPropagation(); // the voting shortcuts do not apply here
  });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  show();
  dialog.showModal();
}
