/** The page: a door with a key, a shelf to choose from, and the view of what was chosen. */

import { chosen, settle } from "./choice.js";
import { curatorView } from "./curator.js";
import { curveView } from "./curveview.js";
import { byId, element, say } from "./dom.js";
import { formView } from "./formview.js";
import { dropKey, keepKey, takeKey } from "./key.js";
import { listView } from "./listview.js";
import { mapView } from "./mapview.js";
import { sentence } from "./refusal.js";
import { releasePath, Service, sessionPath } from "./service.js";
import { sessionView } from "./sessionview.js";
import { shelf } from "./shelf.js";
import { heading, loadStatement, more, promise } from "./statement.js";
import { startTheme } from "./theme.js";

const VIEWS = { map: mapView, curve: curveView, list: listView, form: formView };

/** @type {{service: Service, me: any, releases: any[], sessions: any[], datasets: any[]} | null} */
let house = null;
let closeView = () => {};
let turn = 0; // of what is being loaded; what comes late for an older one is dropped

function openDoor(words = "") {
  closeView();
  house = null;
  byId("house").hidden = true;
  byId("door").hidden = false;
  byId("sign-out").hidden = true;
  byId("who").textContent = "";
  byId("key-error").textContent = words;
  byId("key").value = "";
  byId("key").focus();
}

function signOut(words = "") {
  dropKey();
  openDoor(words);
}

async function loadShelf() {
  const { service } = house;
  const [{ releases }, { sessions }, { datasets }] = await Promise.all(
    ["/v1/releases", "/v1/sessions", "/v1/datasets"].map((path) => service.get(path)),
  );
  Object.assign(house, { releases, sessions, datasets });
  showShelf();
}

function showShelf() {
  const now = chosen();
  byId("shelf").replaceChildren(...shelf(house, now));
  const things = { release: house.releases, session: house.sessions }[now.kind] ?? [];
  const thing = things.find(({ id }) => id === now.id);
  byId("opener-word").textContent =
    now.kind === "curator" ? "Plan and build" : thing?.title || thing?.id || "Choose a release";
}

function foldShelf(open) {
  byId("opener").setAttribute("aria-expanded", String(open));
  byId("shelf").classList.toggle("open", open);
}

async function enter(key) {
  const service = new Service(key);
  const me = await service.get("/v1/me");
  keepKey(key);
  house = { service, me, releases: [], sessions: [], datasets: [] };
  byId("door").hidden = true;
  byId("house").hidden = false;
  byId("sign-out").hidden = false;
  byId("who").replaceChildren(element("span", {}, me.name), element("small", {}, me.role));
  await loadShelf();
  const first = house.releases[0] ?? null;
  if (chosen().kind === "none" && first) settle({ kind: "release", id: first.id });
  else if (chosen().kind === "none" && house.sessions.length) settle({ kind: "session", id: house.sessions[0].id });
  await show();
}

async function show() {
  if (house === null) return;
  const { service, me } = house;
  const [mine, now, content] = [(turn += 1), chosen(), byId("content")];
  closeView();
  closeView = () => {};
  showShelf();
  foldShelf(false);
  content.replaceChildren(element("p", { class: "waiting" }, "Loading …"));
  try {
    const parts = await build(now, service, me);
    if (mine !== turn) return parts.view?.close();
    content.replaceChildren(...parts.nodes);
    closeView = parts.view?.close ?? closeView;
    document.title = `${parts.title} · Milepost`;
    say(parts.title);
  } catch (thrown) {
    if (thrown.code === "unauthorized") return signOut(sentence(thrown));
    if (mine === turn) content.replaceChildren(element("p", { class: "problem", role: "alert" }, sentence(thrown)));
  }
}

/** The nodes of what was chosen. */
async function build(now, service, me) {
  if (now.kind === "release") {
    const [release, statement] = await Promise.all([service.get(releasePath(now.id)), loadStatement(now, service)]);
    const view = (VIEWS[release.view] ?? formView)(release, service);
    const nodes = [
      heading(release, "release"),
      promise(release, statement.lines),
      more(release, statement, service),
      view.root,
    ];
    return { nodes, view, title: release.title || release.id };
  }
  if (now.kind === "session") {
    const session = await service.get(sessionPath(now.id));
    const view = sessionView(session, service, me, (remaining) => {
      const listed = house?.sessions.find(({ id }) => id === session.id);
      if (!listed || listed.remaining === remaining) return;
      listed.remaining = remaining;
      showShelf();
    });
    return {
      nodes: [heading(session, "session"), promise(session), view.root],
      view,
      title: session.title || session.id,
    };
  }
  if (now.kind === "curator" && me.role === "curator") {
    const view = curatorView(house, loadShelf);
    return { nodes: [view.root], view, title: "Plan and build" };
  }
  const words =
    house.releases.length + house.sessions.length
      ? "Choose a release or a session."
      : "Nothing was released yet, and no session is open for you.";
  return { nodes: [element("p", { class: "hint empty" }, words)], view: null, title: "Milepost" };
}

async function start() {
  startTheme(byId("theme"));
  byId("key-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    byId("key-error").textContent = "";
    const key = byId("key").value.trim();
    await enter(key).catch((thrown) => signOut(sentence(thrown)));
  });
  byId("sign-out").addEventListener("click", () => {
    history.replaceState(null, "", location.pathname);
    signOut();
  });
  byId("opener").addEventListener("click", () => foldShelf(byId("opener").getAttribute("aria-expanded") !== "true"));
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault(); // the fragment is the choice's
    (house ? byId("content") : byId("key")).focus();
  });
  addEventListener("hashchange", () => {
    if (new URLSearchParams(location.hash.slice(1)).has("key")) location.reload();
    else show();
  });
  const key = takeKey();
  if (key) await enter(key).catch((thrown) => signOut(sentence(thrown)));
  else openDoor();
}

start();
