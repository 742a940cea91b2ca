/** The curator's view. */

import { element } from "./dom.js";

/** @returns {{root: HTMLElement, close: () => void}} */
export function curatorView() {
  return { root: element("div"), close: () => {} };
}
