// Let the keyboard scroll wide tables and code, and name the copy buttons of each block of code.
const mend = () => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code")) box.tabIndex = 0;
  document.querySelectorAll("nav.md-code__nav").forEach((buttons, number) => {
    buttons.setAttribute("aria-label", `Code block ${number + 1}`);
  });
};
mend();
new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
