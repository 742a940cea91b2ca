/** What is being looked at, as the address says it: `#release=homes`, `#session=clinic`, `#curator`. */

/** @typedef {{kind: "release" | "session" | "curator" | "none", id: string | null}} Choice */

/** @returns {Choice} */
export function currentRoute() {
  const words = new URLSearchParams(location.hash.slice(1));
  for (const kind of ["release", "session"]) if (words.get(kind)) return { kind, id: words.get(kind) };
  return words.has("curator") ? { kind: "curator", id: null } : { kind: "none", id: null };
}

/** The address of a choice. */
export function routeHash({ kind, id }) {
  return id === null ? `#${kind}` : `#${kind}=${encodeURIComponent(id)}`;
}

/** Choose without another entry in the history. */
export function navigate(choice) {
  history.replaceState(null, "", routeHash(choice));
}
