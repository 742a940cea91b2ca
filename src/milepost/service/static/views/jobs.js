/** The list of jobs with their progress, updated while a job waits or runs. */

import { element } from "../dom.js";
import { percent, whole } from "../numbers.js";
import { errorMessage } from "../api_error.js";

const INTERVAL = 1000; // milliseconds between two updates

function line(job) {
  const running = job.state === "running";
  const progress = running
    ? [job.activity, job.rows ? `${whole(job.rows)} rows` : "", job.share === null ? "" : percent(job.share)]
    : [job.state];
  const meter = running
    ? element(
        "div",
        { class: "meter", role: "progressbar", "aria-label": job.subject },
        element("span", { style: { width: `${100 * (job.share ?? 0)}%` } }),
      )
    : null;
  return element(
    "li",
    { class: "job", data: { state: job.state } },
    element(
      "p",
      {},
      element("span", {}, `${job.kind} ${job.subject}`),
      element("span", { class: "hint" }, progress.filter(Boolean).join(" · ")),
    ),
    meter,
    job.detail ? element("small", { class: "hint" }, job.detail) : null,
  );
}

/** @returns {{root: HTMLElement, update: () => Promise<void>, close: () => void}} */
export function jobsPanel(service, oncomplete) {
  const root = element("ul", { class: "columns-of-one" });
  let timer = null;
  let activeBefore = 0;
  async function update() {
    clearTimeout(timer);
    try {
      const { jobs } = await service.get("/v1/jobs");
      root.replaceChildren(
        ...(jobs.length
          ? jobs.slice(0, 12).map(line)
          : [element("li", { class: "hint" }, "There are no jobs yet.")]),
      );
      const active = jobs.filter(({ state }) => state === "queued" || state === "running").length;
      if (active < activeBefore) await oncomplete();
      activeBefore = active;
      if (active) timer = setTimeout(update, INTERVAL);
    } catch (thrown) {
      root.replaceChildren(element("li", { class: "problem" }, errorMessage(thrown)));
    }
  }
  return { root, update, close: () => clearTimeout(timer) };
}
