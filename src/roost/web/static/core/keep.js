// What this browser remembers between visits: choices of how to look, never anything that was shown or anyone's secret.

const HEAD = "roost.";

export function kept(key, otherwise = null) {
  try {
    return localStorage.getItem(HEAD + key) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function keep(key, value) {
  try {
    if (value === null) localStorage.removeItem(HEAD + key);
    else localStorage.setItem(HEAD + key, value);
  } catch {
    // Then it is chosen again next time.
  }
}
