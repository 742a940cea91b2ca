/** The page: a login with a key, a sidebar with links, and the view of the current link. */

import { currentRoute, navigate } from "./router.js";
import { columnsCard } from "./views/columns_card.js";
import { comparisonCard } from "./views/comparison_card.js";
import { curatorView } from "./views/curator_view.js";
import { curveView } from "./views/curve_view.js";
import { byId, element, say } from "./dom.js";
import { driftView } from "./views/drift_view.js";
import { formView } from "./views/form_view.js";
import { removeKey, storeKey, readKey } from "./api_key.js";
import { listView } from "./views/list_view.js";
import { mapView } from "./views/map_view.js";
import { errorMessage } from "./api_error.js";
import { releasePath, ApiClient, sessionPath } from "./api_client.js";
import { sessionView } from "./views/session_view.js";
import { sidebar } from "./sidebar.js";
import { heading, loadStatement, more, promise } from "./views/statement.js";
import { startTheme } from "./theme.js";

const VIEWS = { map: mapView, curve: curveView, list: listView, form: formView };

/** @type {{service: ApiClient, me: any, releases: any[], sessions: any[], datasets: any[]} | null} */
let workspace = null;
let closeView = () => {};
let loadCount = 0; // a response for an earlier count is too late, and is dropped

function showLogin(message = "") {
  closeView();
  workspace = null;
  byId("workspace").hidden = true;
  byId("login").hidden = false;
  byId("sign-out").hidden = true;
  byId("who").textContent = "";
  byId("key-error").textContent = message;
  byId("key").value = "";
  byId("key").focus();
}

function signOut(message = "") {
  removeKey();
  showLogin(message);
}

async function loadSidebar() {
  const { service } = workspace;
  const [{ releases }, { sessions }, { datasets }] = await Promise.all(
    ["/v1/releases", "/v1/sessions", "/v1/datasets"].map((path) => service.get(path)),
  );
  Object.assign(workspace, { releases, sessions, datasets });
  showSidebar();
}

function showSidebar() {
  const route = currentRoute();
  byId("sidebar").replaceChildren(...sidebar(workspace, route));
  const things = { release: workspace.releases, session: workspace.sessions }[route.kind] ?? [];
  const thing = things.find(({ id }) => id === route.id);
  byId("menu-label").textContent =
    { curator: "Plan and build", drift: "Drift" }[route.kind] ?? (thing?.title || thing?.id || "Choose a release");
}

function toggleSidebar(open) {
  byId("menu-button").setAttribute("aria-expanded", String(open));
  byId("sidebar").classList.toggle("open", open);
}

async function signIn(key) {
  const service = new ApiClient(key);
  const me = await service.get("/v1/me");
  storeKey(key);
  workspace = { service, me, releases: [], sessions: [], datasets: [] };
  byId("login").hidden = true;
  byId("workspace").hidden = false;
  byId("sign-out").hidden = false;
  byId("who").replaceChildren(element("span", {}, me.name), element("small", {}, me.role));
  await loadSidebar();
  const first = workspace.releases[0] ?? null;
  if (currentRoute().kind === "none" && first) navigate({ kind: "release", id: first.id });
  else if (currentRoute().kind === "none" && workspace.sessions.length) navigate({ kind: "session", id: workspace.sessions[0].id });
  await show();
}

async function show() {
  if (workspace === null) return;
  const { service, me } = workspace;
  const [count, route, content] = [(loadCount += 1), currentRoute(), byId("content")];
  closeView();
  closeView = () => {};
  showSidebar();
  toggleSidebar(false);
  content.replaceChildren(element("p", { class: "waiting" }, "Loading …"));
  try {
    const parts = await build(route, service, me);
    if (count !== loadCount) return parts.view?.close();
    content.replaceChildren(...parts.nodes);
    closeView = parts.view?.close ?? closeView;
    document.title = `${parts.title} · Milepost`;
    say(parts.title);
  } catch (thrown) {
    if (thrown.code === "unauthorized") return signOut(errorMessage(thrown));
    if (count === loadCount) content.replaceChildren(element("p", { class: "problem", role: "alert" }, errorMessage(thrown)));
  }
}

/** Return the nodes, the view and the title of a route. */
async function build(route, service, me) {
  if (route.kind === "release") {
    const [release, statement] = await Promise.all([service.get(releasePath(route.id)), loadStatement(route, service)]);
    const view = (VIEWS[release.view] ?? formView)(release, service);
    const comparison = comparisonCard(release, workspace.releases, service);
    const questions = [release.supports.includes("columns") ? columnsCard(release, service) : null, comparison.root];
    const nodes = [
      heading(release, "release"),
      promise(release),
      more(release, statement, service),
      view.root,
      element("div", { class: "questions" }, ...questions),
    ];
    const close = () => {
      view.close();
      comparison.close();
    };
    return { nodes, view: { close }, title: release.title || release.id };
  }
  if (route.kind === "session") {
    const session = await service.get(sessionPath(route.id));
    const view = sessionView(session, service, me, (remaining) => {
      const listed = workspace?.sessions.find(({ id }) => id === session.id);
      if (!listed || listed.remaining === remaining) return;
      listed.remaining = remaining;
      showSidebar();
    });
    return {
      nodes: [heading(session, "session"), promise(session), view.root],
      view,
      title: session.title || session.id,
    };
  }
  if (route.kind === "drift") {
    const view = driftView(workspace);
    return { nodes: [view.root], view, title: "Drift" };
  }
  if (route.kind === "curator" && me.role === "curator") {
    const view = curatorView(workspace, loadSidebar);
    return { nodes: [view.root], view, title: "Plan and build" };
  }
  const hint =
    workspace.releases.length + workspace.sessions.length
      ? "Choose a release or a session."
      : "There are no releases yet, and no session is open for you.";
  return { nodes: [element("p", { class: "hint empty" }, hint)], view: null, title: "Milepost" };
}

async function start() {
  startTheme(byId("theme"));
  byId("key-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    byId("key-error").textContent = "";
    const key = byId("key").value.trim();
    await signIn(key).catch((thrown) => signOut(errorMessage(thrown)));
  });
  byId("sign-out").addEventListener("click", () => {
    history.replaceState(null, "", location.pathname);
    signOut();
  });
  byId("menu-button").addEventListener("click", () => toggleSidebar(byId("menu-button").getAttribute("aria-expanded") !== "true"));
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault(); // the fragment belongs to the router
    (workspace ? byId("content") : byId("key")).focus();
  });
  addEventListener("hashchange", () => {
    if (new URLSearchParams(location.hash.slice(1)).has("key")) location.reload();
    else show();
  });
  const key = readKey();
  if (key) await signIn(key).catch((thrown) => signOut(errorMessage(thrown)));
  else showLogin();
}

start();
