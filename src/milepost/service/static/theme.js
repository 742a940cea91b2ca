/** The theme of the page: light, dark, or the same as the system. */

const STORAGE_KEY = "milepost.theme";
const LABELS = { auto: "◐ Auto", light: "○ Light", dark: "● Dark" };
const NEXT = { auto: "light", light: "dark", dark: "auto" };

function show(button, theme) {
  document.documentElement.dataset.theme = theme;
  button.querySelector("span").textContent = LABELS[theme];
  button.setAttribute("aria-label", `Colours: ${theme === "auto" ? "same as the system" : theme}. Press to change.`);
  dispatchEvent(new Event("themechange"));
}

/** Apply the stored theme, and let `button` switch between auto, light and dark. */
export function startTheme(button) {
  let theme = localStorage.getItem(STORAGE_KEY) ?? "auto";
  if (!(theme in LABELS)) theme = "auto";
  show(button, theme);
  button.addEventListener("click", () => {
    theme = NEXT[theme];
    localStorage.setItem(STORAGE_KEY, theme);
    show(button, theme);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("themechange")));
}
