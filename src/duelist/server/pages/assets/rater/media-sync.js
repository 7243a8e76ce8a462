// Synchronized playback of the audio or video of both sides: one clock, one side audible at a time.
import { button, el } from "../shared/dom.js";

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
    soundButton.textContent = `Sound: ${side === 0 ? "left" : "right"} (h)`;
  };
  const playButton = button("Play both (p)", () => (both.some((each) => !each.paused) ? pause() : play()));
  const soundButton = button("Sound: left (h)", () => unmute(1 - audible));
  const restartButton = button("Restart", () => {
    for (const each of both) each.currentTime = 0;
  });
  const play = () => {
    second.currentTime = first.currentTime;
    unmute(audible);
    for (const each of both) each.play().catch(() => {}); // the media element itself shows that it cannot play the file
    playButton.textContent = "Pause both (p)";
  };
  const pause = () => {
    for (const each of both) each.pause();
    playButton.textContent = "Play both (p)";
  };
  first.addEventListener("seeked", () => {
    if (Math.abs(second.currentTime - first.currentTime) > 0.2) second.currentTime = first.currentTime;
  });
  first.addEventListener("ended", () => {
    playButton.textContent = "Play both (p)";
  });
  const controls = el(
    "div",
    { class: "media-controls", role: "group", "aria-label": "Playback of both sides" },
    playButton,
    soundButton,
    restartButton,
  );
  controls.togglePlay = () => playButton.click();
  controls.toggleSound = () => soundButton.click();
  return controls;
}
