/** The sidebar: releases and sessions to choose from, budgets, and the curator's link. */

import { budgets } from "./charts/budget_bars.js";
import { routeHash } from "./router.js";
import { element } from "./dom.js";
import { whole } from "./numbers.js";

const VIEWS = { map: "map", curve: "curve", list: "list", form: "form" };

function entry(kind, thing, now, tail) {
  const current = now.kind === kind && now.id === thing.id;
  return element(
    "li",
    {},
    element(
      "a",
      { href: routeHash({ kind, id: thing.id }), "aria-current": current ? "page" : null },
      element("span", {}, thing.title || thing.id),
      element("small", {}, tail),
    ),
  );
}

function left(session) {
  if (session.state !== "open") return session.state;
  return session.remaining === null ? "open" : `${whole(session.remaining)} left`;
}

/**
 * @param {{me: any, releases: any[], sessions: any[], datasets: any[]}} workspace
 * @param {import("./router.js").Route} now
 */
export function sidebar(workspace, now) {
  const part = (title, items, none) =>
    element(
      "section",
      { class: "sidebar-part" },
      element("h2", {}, title),
      items.length ? element("ul", {}, ...items) : element("p", { class: "hint" }, none),
    );
  const tail = (release) => [VIEWS[release.view] ?? release.view, release.guarantee.text.split(",")[0]].join(" · ");
  const parts = [
    part(
      "Releases",
      workspace.releases.map((release) => entry("release", release, now, tail(release))),
      "Nothing was released yet.",
    ),
    part(
      "Sessions",
      workspace.sessions.map((session) => entry("session", session, now, left(session))),
      "No session is open for you.",
    ),
    budgets(workspace.datasets),
  ];
  if (workspace.me.role === "curator") {
    const current = now.kind === "curator" ? "page" : null;
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
