// Choosing an item by a click or a tap on it. Selecting text, and links, players and buttons inside an item, do not vote.

const LARGEST_MOVE = 8; // pixels: a longer move of the pointer is a drag

/** Call `choose(outcome)` when one of the two sides is clicked. */
export function chooseByClick(sides, choose) {
  sides.forEach((side, k) => {
    let from = null;
    side.addEventListener("pointerdown", (event) => {
      from = event;
    });
    side.addEventListener("click", (event) => {
      const moved = from ? Math.hypot(event.clientX - from.clientX, event.clientY - from.clientY) : 0;
      const selection = getSelection();
      const isSelecting = !selection.isCollapsed && side.contains(selection.anchorNode);
      if (moved > LARGEST_MOVE || isSelecting || event.target.closest("a, button, input, audio, video, summary")) return;
      choose(k === 0 ? "first" : "second");
    });
  });
}
