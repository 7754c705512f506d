// What a page shows, in its address: a link shows the same.

export function readLink() {
  const found = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const number = (text) => (text === undefined || text === "" || isNaN(text) ? null : Number(text));
  return {
    side: number(found.s) ?? 0,
    node: number(found.n),
    grouping: found.g || null,
    overlay: found.o || null,
    text: found.t || null,
    open: found.u ? found.u.split(".").map(Number).filter(Number.isInteger) : null,
    view: found.v && found.v.split("_").every((one) => one && !isNaN(one)) ? found.v.split("_").map(Number) : null,
    search: found.q || "",
  };
}

export function writeLink(state) {
  const made = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) if (value !== null && value !== "" && value !== undefined) made.set(key, value);
  try {
    history.replaceState(null, "", "#" + made.toString());
  } catch {
    location.replace("#" + made.toString()); // where a browser refuses it for files
  }
}
