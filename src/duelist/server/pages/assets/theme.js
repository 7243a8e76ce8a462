// A classic script in the head, so that the page never flashes in the wrong colours. "auto" follows the system.
(() => {
  const KEY = "duelist-theme";
  const read = () => {
    try {
      return localStorage.getItem(KEY) ?? "auto";
    } catch {
      return "auto";
    }
  };
  const apply = (theme) => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  };
  apply(read());
  const WORDS = { auto: "as the system", light: "light", dark: "dark" };
  addEventListener("DOMContentLoaded", () => {
    for (const button of document.querySelectorAll("[data-theme-toggle]")) {
      const show = () => {
        button.textContent = `Colours: ${WORDS[read()]}`;
      };
      show();
      button.addEventListener("click", () => {
        const order = ["auto", "light", "dark"];
        const next = order[(order.indexOf(read()) + 1) % order.length];
        try {
          localStorage.setItem(KEY, next);
        } catch {
          /* private windows: this page only */
        }
        apply(next);
        button.textContent = `Colours: ${WORDS[next]}`;
        dispatchEvent(new Event("themechange"));
      });
    }
  });
})();
