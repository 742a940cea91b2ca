/** The key of this tab, from the login form or from the fragment of a link. */

const STORAGE_KEY = "milepost.key";

/** Return the key of a link `/#key=…`, and remove it from the address and the history; or the key of this tab. */
export function readKey() {
  const params = new URLSearchParams(location.hash.slice(1));
  const key = params.get("key");
  if (key !== null) {
    params.delete("key");
    const rest = params.toString();
    history.replaceState(null, "", `${location.pathname}${rest && `#${rest}`}`);
    if (key.trim()) storeKey(key.trim());
  }
  return sessionStorage.getItem(STORAGE_KEY);
}

export function storeKey(key) {
  sessionStorage.setItem(STORAGE_KEY, key);
}

/** Remove the key and all other data of this tab. */
export function removeKey() {
  sessionStorage.clear();
}
