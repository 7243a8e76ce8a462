// Light, dark or automatic colors. A classic script in the head, so that the page never flashes in the wrong colors.
(() => {
  const KEY = "duelist-theme";
  const THEMES = ["auto", "light", "dark"];
  let theme = "auto";
  try {
    theme = THEMES.find((each) => each === localStorage.getItem(KEY)) ?? theme;
  } catch {
    // Storage is disabled: each page starts with the system's theme.
  }
  const apply = () => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    for (const button of document.querySelectorAll("[data-theme-toggle]")) button.textContent = button.dataset[theme] ?? `Theme: ${theme}`;
  };
  const toggle = () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // As above.
    }
    apply();
    dispatchEvent(new Event("themechange"));
  };
  apply();
  addEventListener("DOMContentLoaded", () => {
    apply();
    for (const button of document.querySelectorAll("[data-theme-toggle]")) button.addEventListener("click", toggle);
  });
})();
