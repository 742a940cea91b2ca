/** The curator's view: plan before spending, build releases, open sessions, and see how far and how much. */

import { chargesPart } from "./charges.js";
import { card, element } from "./dom.js";
import { jobsPart } from "./jobs.js";
import { makingForm } from "./making.js";
import { planForm } from "./planning.js";
import { sentence } from "./refusal.js";

/**
 * @param {any} house  service and what is on the shelf
 * @param {() => Promise<void>} reload  of the shelf, after something was made
 * @returns {{root: HTMLElement, close: () => void}}
 */
export function curatorView(house, reload) {
  const { service } = house;
  const jobs = jobsPart(service, reload);
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
    .catch((thrown) => tables.replaceChildren(sentence(thrown)));
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
        makingForm(house, () => jobs.look()),
      ),
      card("Jobs", jobs.root),
      element("div", { class: "view-main" }, card("Tables", tables), card("Charges", chargesPart(house))),
    ),
  );
  jobs.look();
  return { root, close: () => jobs.close() };
}
