/** The form that builds a release, or opens a session, from a table of the data directory. */

import { element, labelled, say } from "../dom.js";
import { errorMessage } from "../api_error.js";
import { optionalNumber, spaceInput } from "./space_input.js";

function wide(node) {
  node.classList.add("wide");
  return node;
}

/** @returns {HTMLElement} */
export function createForm(workspace, onbegun) {
  const input = (attributes) => element("input", { required: true, autocomplete: "off", ...attributes });
  const kind = element(
    "select",
    {},
    element("option", { value: "releases" }, "a release"),
    element("option", { value: "sessions" }, "a session"),
  );
  const id = input({ pattern: "[a-z0-9][a-z0-9\\-]{0,63}", title: "small letters, digits and hyphens" });
  const title = element("input", { maxlength: 100, autocomplete: "off" });
  const table = input({ list: "table-names" });
  const dataset = element(
    "select",
    { required: true },
    ...workspace.datasets.map(({ name }) => element("option", {}, name)),
  );
  const epsilon = input({ type: "number", min: 0, step: "any", value: 1 });
  const delta = input({ type: "number", min: 0, max: 1, step: "any", value: 0.000001, required: false });
  const analyst = input({ required: false });
  const limit = input({ type: "number", min: 1, value: 100, required: false });
  const space = spaceInput(workspace.service);
  const problem = element("p", { class: "problem", role: "alert" });
  const session = [labelled("For analyst", analyst), labelled("Questions", limit)];
  const choose = () => session.forEach((part) => (part.hidden = kind.value !== "sessions"));
  kind.addEventListener("change", choose);
  choose();
  const form = element(
    "form",
    { class: "compact", id: "create-form" },
    labelled("Make", kind),
    labelled("Name", id),
    wide(labelled("Title", title)),
    labelled("Table", table),
    labelled("Dataset", dataset),
    labelled("ε", epsilon),
    labelled("δ", delta),
    ...session,
    space.node,
    element(
      "div",
      { class: "wide" },
      element("button", { type: "submit", class: "primary" }, "Build; this spends budget"),
    ),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const spec = space.read();
    if (spec === null) return;
    problem.textContent = "";
    const more = kind.value === "sessions" ? { analyst: analyst.value, max_queries: limit.valueAsNumber } : {};
    const body = {
      id: id.value,
      title: title.value || undefined,
      table: table.value,
      dataset: dataset.value,
      epsilon: epsilon.valueAsNumber,
      delta: optionalNumber(delta),
      space: spec,
      ...more,
    };
    try {
      await workspace.service.post(`/v1/${kind.value}`, body);
      say("The job has begun.");
      onbegun();
    } catch (thrown) {
      problem.textContent = errorMessage(thrown);
    }
  });
  return element("div", { class: "latest" }, form, problem);
}
