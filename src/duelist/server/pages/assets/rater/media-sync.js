// Sound and film of both sides played in step: one clock, one side heard at a time.
import { button, el } from "../shared/dom.js";

/** A bar for two media elements, or null where there are not two. */
export function together(first, second) {
  if (!first || !second) return null;
  const both = [first, second];
  let heard = 0;
  const listen = (side) => {
    heard = side;
    both.forEach((each, k) => {
      each.muted = k !== side;
    });
    hear.textContent = `Heard: ${side === 0 ? "left" : "right"} (h)`;
  };
  const play = button("Play both (p)", () => (both.some((each) => !each.paused) ? pause() : start()));
  const hear = button("", () => listen(1 - heard));
  const again = button("From the start", () => {
    for (const each of both) each.currentTime = 0;
  });
  const start = () => {
    second.currentTime = first.currentTime;
    listen(heard);
    for (const each of both) each.play().catch(() => {}); // a file that cannot be played shows that itself
    play.textContent = "Pause both (p)";
  };
  const pause = () => {
    for (const each of both) each.pause();
    play.textContent = "Play both (p)";
  };
  first.addEventListener("seeked", () => {
    if (Math.abs(second.currentTime - first.currentTime) > 0.2) second.currentTime = first.currentTime;
  });
  first.addEventListener("ended", () => {
    play.textContent = "Play both (p)";
  });
  const bar = el("div", { class: "together", role: "group", "aria-label": "Both together" }, play, hear, again);
  bar.playOrPause = () => play.click();
  bar.hearOther = () => hear.click();
  hear.textContent = "Heard: left (h)";
  return bar;
}
