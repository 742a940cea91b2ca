/** Routes of the page, in the fragment of its address: `#release=homes`, `#session=clinic`, `#drift`, `#curator`. */

/** @typedef {{kind: "release" | "session" | "drift" | "curator" | "none", id: string | null}} Route */

/** @returns {Route} */
export function currentRoute() {
  const params = new URLSearchParams(location.hash.slice(1));
  for (const kind of ["release", "session"]) if (params.get(kind)) return { kind, id: params.get(kind) };
  return { kind: ["drift", "curator"].find((kind) => params.has(kind)) ?? "none", id: null };
}

/** @returns {string} the fragment of a route */
export function routeHash({ kind, id }) {
  return id === null ? `#${kind}` : `#${kind}=${encodeURIComponent(id)}`;
}

/** Go to a route without a new entry in the history. */
export function navigate(route) {
  history.replaceState(null, "", routeHash(route));
}
