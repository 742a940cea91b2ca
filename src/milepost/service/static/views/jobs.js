/** Jobs and how far they are, looked at again while one of them runs. */

import { element } from "../dom.js";
import { percent, whole } from "../numbers.js";
import { errorMessage } from "../api_error.js";

const PAUSE = 1000;

function line(job) {
  const running = job.state === "running";
  const done = running
    ? [job.doing, job.rows ? `${whole(job.rows)} rows` : "", job.share === null ? "" : percent(job.share)]
    : [job.state];
  const meter = running
    ? element(
        "div",
        { class: "meter", role: "progressbar", "aria-label": job.of },
        element("span", { style: { width: `${100 * (job.share ?? 0)}%` } }),
      )
    : null;
  return element(
    "li",
    { class: "job", data: { state: job.state } },
    element(
      "p",
      {},
      element("span", {}, `${job.kind} ${job.of}`),
      element("span", { class: "hint" }, done.filter(Boolean).join(" · ")),
    ),
    meter,
    job.detail ? element("small", { class: "hint" }, job.detail) : null,
  );
}

/** @returns {{root: HTMLElement, look: () => Promise<void>, close: () => void}} */
export function jobsPanel(service, onmade) {
  const root = element("ul", { class: "columns-of-one" });
  let timer = null;
  let before = 0;
  async function look() {
    clearTimeout(timer);
    try {
      const { jobs } = await service.get("/v1/jobs");
      root.replaceChildren(
        ...(jobs.length
          ? jobs.slice(0, 12).map(line)
          : [element("li", { class: "hint" }, "Nothing was made here yet.")]),
      );
      const open = jobs.filter(({ state }) => state === "queued" || state === "running").length;
      if (open < before) await onmade();
      before = open;
      if (open) timer = setTimeout(look, PAUSE);
    } catch (thrown) {
      root.replaceChildren(element("li", { class: "problem" }, errorMessage(thrown)));
    }
  }
  return { root, look, close: () => clearTimeout(timer) };
}
