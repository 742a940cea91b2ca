/** Light or dark: as the system says, unless the person says otherwise. */

const PLACE = "milepost.theme";
const WORDS = { auto: "◐ Auto", light: "○ Light", dark: "● Dark" };
const NEXT = { auto: "light", light: "dark", dark: "auto" };

function show(button, theme) {
  document.documentElement.dataset.theme = theme;
  button.querySelector("span").textContent = WORDS[theme];
  button.setAttribute("aria-label", `Colours: ${theme === "auto" ? "as the system says" : theme}. Press to change.`);
  dispatchEvent(new Event("themechange"));
}

/** Make `button` go round auto, light, dark. */
export function startTheme(button) {
  let theme = localStorage.getItem(PLACE) ?? "auto";
  if (!(theme in WORDS)) theme = "auto";
  show(button, theme);
  button.addEventListener("click", () => {
    theme = NEXT[theme];
    localStorage.setItem(PLACE, theme);
    show(button, theme);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("themechange")));
}
