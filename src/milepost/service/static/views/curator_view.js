/** The curator's view: plan before spending, build releases, open sessions, and see how far and how much. */

import { chargesPanel } from "./charges.js";
import { card, element } from "../dom.js";
import { jobsPanel } from "./jobs.js";
import { createForm } from "../forms/create_form.js";
import { planForm } from "../forms/plan_form.js";
import { errorMessage } from "../api_error.js";

/**
 * @param {any} workspace  service and what is on the sidebar
 * @param {() => Promise<void>} reload  of the sidebar, after something was made
 * @returns {{root: HTMLElement, close: () => void}}
 */
export function curatorView(workspace, reload) {
  const { service } = workspace;
  const jobs = jobsPanel(service, reload);
  const tables = element("p", { class: "tags" });
  const names = element("datalist", { id: "table-names" });
  service
    .get("/v1/tables")
    .then(({ tables: found }) => {
      names.replaceChildren(...found.map((name) => element("option", { value: name })));
      tables.replaceChildren(
        ...(found.length
          ? found.map((name) => element("code", {}, name))
          : ["There is no table yet. Put CSV or Parquet files into the folder “tables” of the data directory."]),
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
      element("p", {}, "Planning touches no data. Building spends a dataset's budget, for good."),
    ),
    element(
      "div",
      { class: "columns" },
      card("Plan", planForm(service)),
      card(
        "Build",
        createForm(workspace, () => jobs.look()),
      ),
      card("Jobs", jobs.root),
      element("div", { class: "view-main" }, card("Tables", tables), card("Charges", chargesPanel(workspace))),
    ),
  );
  jobs.look();
  return { root, close: () => jobs.close() };
}
