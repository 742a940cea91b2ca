/** A space in words, as JSON, checked before it is sent. */

import { element, labelled } from "../dom.js";

const EXAMPLE = '{"space": "great-circle", "center": [52.5, 13.4], "radius_km": 30}';

/** @returns {{node: HTMLElement, read: () => any}} `read` gives null, and says why, where the text is no space */
export function spaceInput() {
  const area = element("textarea", { rows: 3, name: "space", required: true, spellcheck: "false", value: EXAMPLE });
  const read = () => {
    try {
      const words = JSON.parse(area.value);
      area.setCustomValidity(
        words && typeof words === "object" && words.space ? "" : 'A space needs a word "space", such as "l1".',
      );
      if (area.reportValidity()) return words;
    } catch {
      area.setCustomValidity("This is not JSON: look for missing quotes and commas.");
      area.reportValidity();
    }
    return null;
  };
  area.addEventListener("input", () => area.setCustomValidity(""));
  const node = labelled("Space", area, "as JSON, in the words of the command line");
  node.classList.add("wide");
  return { node, read };
}

/** A number that may be left empty; undefined then, so that it is not sent. */
export function optionalNumber(input) {
  return input.value === "" ? undefined : input.valueAsNumber;
}
