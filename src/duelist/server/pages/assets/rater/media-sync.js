// Synchronized playback of the audio or video of both sides: one clock, one side audible at a time.
import { button, el } from "../shared/dom.js";
import { say } from "../shared/sentences.js";
import { sideName } from "./sides.js";

const soundLabel = (side) => `${say("media.sound", { side: sideName(side) })} (h)`;

/** Controls for two media elements; null unless there are two. */
export function syncedPlayer(first, second) {
  if (!first || !second) return null;
  const both = [first, second];
  let audible = 0;
  const unmute = (side) => {
    audible = side;
    both.forEach((each, k) => {
      each.muted = k !== side;
    });
    soundButton.textContent = soundLabel(side);
  };
  const playButton = button(`${say("media.play")} (p)`, () => (both.some((each) => !each.paused) ? pause() : play()));
  const soundButton = button(soundLabel(0), () => unmute(1 - audible));
  const restartButton = button(say("media.restart"), () => {
    for (const each of both) each.currentTime = 0;
  });
  const play = () => {
    second.currentTime = first.currentTime;
    unmute(audible);
    for (const each of both) each.play().catch(() => {}); // the media element itself shows that it cannot play the file
    playButton.textContent = `${say("media.pause")} (p)`;
  };
  const pause = () => {
    for (const each of both) each.pause();
    playButton.textContent = `${say("media.play")} (p)`;
  };
  first.addEventListener("seeked", () => {
    if (Math.abs(second.currentTime - first.currentTime) > 0.2) second.currentTime = first.currentTime;
  });
  first.addEventListener("ended", () => {
    playButton.textContent = `${say("media.play")} (p)`;
  });
  const controls = el(
    "div",
    { class: "media-controls", role: "group", "aria-label": say("media.label") },
    playButton,
    soundButton,
    restartButton,
  );
  controls.seek = (seconds) => {
    for (const each of both) each.currentTime = Math.max(0, first.currentTime + seconds);
  };
  controls.togglePlay = () => playButton.click();
  controls.toggleSound = () => soundButton.click();
  return controls;
}
