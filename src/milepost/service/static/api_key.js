/** The key: in this tab only, from the form or from a link's fragment. */

const PLACE = "milepost.key";

/** The key of a link `/#key=…`, which then leaves the address bar and the history; or the one this tab has. */
export function readKey() {
  const words = new URLSearchParams(location.hash.slice(1));
  const given = words.get("key");
  if (given !== null) {
    words.delete("key");
    const rest = words.toString();
    history.replaceState(null, "", `${location.pathname}${rest && `#${rest}`}`);
    if (given.trim()) storeKey(given.trim());
  }
  return sessionStorage.getItem(PLACE);
}

export function storeKey(key) {
  sessionStorage.setItem(PLACE, key);
}

/** Forget the key, and with it everything else of this tab. */
export function removeKey() {
  sessionStorage.clear();
}
