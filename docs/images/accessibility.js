// Let the keyboard scroll wide tables and code, and keep the copy buttons of code out of the list of landmarks.
const mend = () => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code")) box.tabIndex = 0;
  for (const buttons of document.querySelectorAll("nav.md-code__nav")) buttons.setAttribute("role", "group");
};
mend();
new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
