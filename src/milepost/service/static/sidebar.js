/** The sidebar: links to releases and sessions, budgets, and the link for curators. */

import { budgets } from "./charts/budget_bars.js";
import { comparableReleases } from "./views/drift_view.js";
import { routeHash } from "./router.js";
import { element } from "./dom.js";
import { whole } from "./numbers.js";

const VIEWS = { map: "map", curve: "curve", list: "list", form: "form" };

function link(href, current, title, details) {
  return element(
    "li",
    {},
    element("a", { href, "aria-current": current ? "page" : null }, element("span", {}, title), element("small", {}, details)),
  );
}

function entry(kind, item, route, details) {
  const current = route.kind === kind && route.id === item.id;
  return link(routeHash({ kind, id: item.id }), current, item.title || item.id, details);
}

function stateText(session) {
  if (session.state !== "open") return session.state;
  return session.remaining === null ? "open" : `${whole(session.remaining)} left`;
}

/**
 * @param {{me: any, releases: any[], sessions: any[], datasets: any[]}} workspace
 * @param {import("./router.js").Route} route
 */
export function sidebar(workspace, route) {
  const part = (title, items, emptyText) =>
    element(
      "section",
      { class: "sidebar-part" },
      element("h2", {}, title),
      items.length ? element("ul", {}, ...items) : element("p", { class: "hint" }, emptyText),
    );
  const details = (release) => [VIEWS[release.view] ?? release.view, release.guarantee.text.split(",")[0]].join(" · ");
  const releases = workspace.releases.map((release) => entry("release", release, route, details(release)));
  if (comparableReleases(workspace.releases).size) {
    releases.push(link("#drift", route.kind === "drift", "Drift", "releases compared in order"));
  }
  const parts = [
    part("Releases", releases, "There are no releases yet."),
    part(
      "Sessions",
      workspace.sessions.map((session) => entry("session", session, route, stateText(session))),
      "No session is open for you.",
    ),
    budgets(workspace.datasets),
  ];
  if (workspace.me.role === "curator") {
    parts.push(part("Curator", [link("#curator", route.kind === "curator", "Plan and build", "jobs, tables, charges")], ""));
  }
  return parts;
}
