/** The sidebar: links to releases and sessions, budgets, and the link for curators. */

import { budgets } from "./charts/budget_bars.js";
import { routeHash } from "./router.js";
import { element } from "./dom.js";
import { whole } from "./numbers.js";

const VIEWS = { map: "map", curve: "curve", list: "list", form: "form" };

function entry(kind, item, route, details) {
  const current = route.kind === kind && route.id === item.id;
  return element(
    "li",
    {},
    element(
      "a",
      { href: routeHash({ kind, id: item.id }), "aria-current": current ? "page" : null },
      element("span", {}, item.title || item.id),
      element("small", {}, details),
    ),
  );
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
  const parts = [
    part(
      "Releases",
      workspace.releases.map((release) => entry("release", release, route, details(release))),
      "There are no releases yet.",
    ),
    part(
      "Sessions",
      workspace.sessions.map((session) => entry("session", session, route, stateText(session))),
      "No session is open for you.",
    ),
    budgets(workspace.datasets),
  ];
  if (workspace.me.role === "curator") {
    const current = route.kind === "curator" ? "page" : null;
    const link = element(
      "a",
      { href: "#curator", "aria-current": current },
      element("span", {}, "Plan and build"),
      element("small", {}, "jobs, tables, charges"),
    );
    parts.push(
      element(
        "section",
        { class: "sidebar-part" },
        element("h2", {}, "Curator"),
        element("ul", {}, element("li", {}, link)),
      ),
    );
  }
  return parts;
}
