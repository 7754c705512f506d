// What the page was given: sections of compressed JSON, unpacked when they are first asked for.

const unpacked = new Map();

export function section(name) {
  if (!unpacked.has(name)) unpacked.set(name, unpack(document.getElementById(`data-${name}`).textContent));
  return unpacked.get(name);
}

async function unpack(base64) {
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

// Make an element: make("li", {className: "found"}, "text", child). Text stays text.
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("aria-") || key === "role" || key === "for") element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children);
  return element;
}

export function shortNumber(value) {
  if (typeof value !== "number") return String(value);
  if (value === 0) return "0";
  const size = Math.abs(value);
  for (const [unit, name] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (size >= unit) return `${Number((value / unit).toPrecision(3))} ${name}`;
  }
  return size >= 1e-3 ? String(Number(value.toPrecision(3))) : value.toExponential(1);
}

// A number with its unit: 47.4 MB, 3.2 µs.
export function amount(value, unit) {
  if (typeof value !== "number") return String(value);
  const text = shortNumber(value);
  return !unit ? text : /[TGMk]$/.test(text) && unit.length < 4 ? text + unit : `${text} ${unit}`;
}
