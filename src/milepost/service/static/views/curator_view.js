/** The view of curators: plan and create releases and sessions, and see jobs, tables and charges. */

import { chargesPanel } from "./charges.js";
import { card, element } from "../dom.js";
import { jobsPanel } from "./jobs.js";
import { createForm } from "../forms/create_form.js";
import { planForm } from "../forms/plan_form.js";
import { errorMessage } from "../api_error.js";

/**
 * @param {any} workspace  the client, and the content of the sidebar
 * @param {() => Promise<void>} reload  reloads the sidebar after a job
 * @returns {{root: HTMLElement, close: () => void}}
 */
export function curatorView(workspace, reload) {
  const { service } = workspace;
  const jobs = jobsPanel(service, reload);
  const tables = element("p", { class: "tags" });
  const names = element("datalist", { id: "table-names" });
  service
    .get("/v1/tables")
    .then(({ tables: tableNames }) => {
      names.replaceChildren(...tableNames.map((name) => element("option", { value: name })));
      tables.replaceChildren(
        ...(tableNames.length
          ? tableNames.map((name) => element("code", {}, name))
          : ["There are no tables yet. Copy CSV or Parquet files to the folder “tables” of the data directory."]),
      );
    })
    .catch((thrown) => tables.replaceChildren(errorMessage(thrown)));
  const root = element(
    "div",
    { class: "curator" },
    names,
    element(
      "header",
      { class: "heading" },
      element("h1", {}, "Plan and build"),
      element("p", {}, "A plan reads no data and spends nothing. A build spends the budget of a dataset, and cannot be undone."),
    ),
    element(
      "div",
      { class: "columns" },
      card("Plan", planForm(service)),
      card(
        "Build",
        createForm(workspace, () => jobs.update()),
      ),
      card("Jobs", jobs.root),
      element("div", { class: "view-main" }, card("Tables", tables), card("Charges", chargesPanel(workspace))),
    ),
  );
  jobs.update();
  return { root, close: () => jobs.close() };
}
