// Sets the theme that was chosen before anything is painted; the rest of it is in theme.js.
"use strict";
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("roost.theme");
  } catch {
    // A browser that keeps nothing goes by its own setting.
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
