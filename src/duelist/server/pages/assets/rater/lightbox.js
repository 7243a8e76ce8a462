// Pictures enlarged: both sides at one place and one size, switched with a key, so that details can be compared.
import { button, el } from "../shared/dom.js";

/** Open the pictures of a pair; `sides` are lists of sources, `at` which side was chosen and which of its pictures. */
export function zoom(sides, at) {
  let { side, index } = at;
  let size = 1;
  const image = el("img", { alt: "" });
  const frame = el("div", { class: "frame", tabindex: 0, role: "group", "aria-label": "enlarged picture" }, image);
  const title = el("h2", { id: "zoomed", "aria-live": "polite" });
  const other = button("Show the other side (o)", () => turn());
  const dialog = el(
    "dialog",
    { class: "zoomed", "aria-labelledby": "zoomed" },
    el(
      "div",
      { class: "row" },
      title,
      other,
      button("Smaller (−)", () => resize(0.8)),
      button("Larger (+)", () => resize(1.25)),
      button("Close (Esc)", () => dialog.close()),
    ),
    frame,
  );
  const show = () => {
    title.textContent = side === 0 ? "Left" : "Right";
    image.src = sides[side][Math.min(index, sides[side].length - 1)];
    other.hidden = !sides[1 - side].length;
  };
  const turn = () => {
    if (!sides[1 - side].length) return;
    side = 1 - side;
    show();
  };
  const resize = (factor) => {
    const middle = [
      (frame.scrollLeft + frame.clientWidth / 2) / size,
      (frame.scrollTop + frame.clientHeight / 2) / size,
    ];
    size = Math.min(8, Math.max(1, size * factor));
    image.style.width = `${100 * size}%`;
    frame.scrollTo(middle[0] * size - frame.clientWidth / 2, middle[1] * size - frame.clientHeight / 2);
  };
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "o") turn();
    else if (event.key === "+" || event.key === "=") resize(1.25);
    else if (event.key === "-") resize(0.8);
    event.stopPropagation(); // the keys of votes are not meant here
  });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  show();
  dialog.showModal();
}
