import { make, section } from "../data.js";

const SHOWN = 16;
const LARGEST = 5;

/** Numbers from -1 to 1 for floats, small ones for integers, the same for the same seed. */
function drawn(array, dtype, seed) {
  let state = seed * 2654435761 + 1;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
  const whole = array instanceof BigInt64Array || array instanceof BigUint64Array;
  for (let i = 0; i < array.length; ++i) {
    const one = next();
    if (whole) array[i] = BigInt(Math.floor(one * 8));
    else if (dtype === "bool") array[i] = one < 0.5 ? 0 : 1;
    else if (dtype === "float16") array[i] = 0x3800;
    else if (dtype === "bfloat16") array[i] = 0x3f00;
    else array[i] = dtype.startsWith("float") ? 2 * one - 1 : Math.floor(one * 8);
  }
  return array;
}

/** One row for each input, and each extent that has a name. */
function rows(module, table) {
  const extents = module.extents.map((name) => {
    const field = make("input", { type: "number", min: 0, value: 1, id: `extent-${name}` });
    const label = make("label", { for: field.id }, name);
    table.append(make("tr", {}, make("th", {}, label), make("td", {}, "an extent"), make("td", {}, field)));
    return field;
  });
  const inputs = module.inputs.map((input, number) => {
    const kinds = [["drawn", "drawn"], ["zeros", "zeros"], ["file", "raw file…"]];
    const options = kinds.map(([value, text]) => make("option", { value }, text));
    const choice = make("select", { id: `input-${number}` }, ...options);
    const file = make("input", { type: "file", hidden: true, "aria-label": `File of ${input.name}` });
    choice.addEventListener("change", () => { file.hidden = choice.value !== "file"; });
    const label = make("label", { for: choice.id }, input.name);
    const kind = `${input.dtype} [${input.shape.join(", ")}]`;
    table.append(make("tr", {}, make("th", {}, label), make("td", {}, kind), make("td", {}, choice, file)));
    return { choice, file };
  });
  return { extents, inputs };
}

/** What an output has: its first numbers, and the largest with their places. */
function shown(output, array) {
  const words = (values) => values.map((one) => (typeof one === "number" ? +one.toPrecision(6) : one)).join(", ");
  const made = make("div", {}, make("h3", {}, `${output.name}: ${output.dtype}[${array.length}]`));
  const more = array.length > SHOWN ? ", …" : "";
  made.append(make("p", {}, words(Array.from(array.slice(0, SHOWN))) + more));
  if (array.length > 1) {
    const order = Array.from(array.keys()).sort((a, b) => (array[a] < array[b] ? 1 : array[a] > array[b] ? -1 : a - b));
    const list = make("table", {}, make("tr", {}, make("th", {}, "Largest at"), make("th", {}, "value")));
    for (const place of order.slice(0, LARGEST)) {
      list.append(make("tr", {}, make("td", {}, `${place}`), make("td", {}, words([array[place]]))));
    }
    made.append(list);
  }
  return made;
}

async function begin() {
  const { name, title } = await section("model");
  const find = (id) => document.getElementById(id);
  find("title").textContent = title;
  find("graph").src = `${name}_graph.html`;
  const status = find("said"), button = find("run");
  try {
    const module = await import(new URL(`${name}.js`, document.baseURI));
    const fields = rows(module, find("inputs"));
    const model = await module.load();
    find("form").addEventListener("submit", async (event) => {
      event.preventDefault();
      try {
        const extents = fields.extents.map((one) => Number(one.value));
        const sizes = model.sizes(extents);
        const data = await Promise.all(module.inputs.map(async (input, i) => {
          const { choice, file } = fields.inputs[i];
          if (choice.value === "file") return new Uint8Array(await file.files[0].arrayBuffer());
          const kind = module.ARRAYS[input.dtype];
          const array = new kind(Math.max(sizes[i], 0) / kind.BYTES_PER_ELEMENT);
          return choice.value === "zeros" ? array : drawn(array, input.dtype, i + 1);
        }));
        const start = performance.now();
        const results = model.run(data, extents);
        status.textContent = `${(performance.now() - start).toFixed(1)} ms`;
        find("outputs").replaceChildren(...results.map((one, i) => shown(module.outputs[i], one)));
      } catch (problem) {
        status.textContent = problem.message;
      }
    });
    button.disabled = false;
    status.textContent = "";
  } catch (problem) {
    status.textContent = location.protocol === "file:"
      ? "Browsers load no modules from files: serve this folder, for instance by python3 -m http.server."
      : problem.message;
  }
}

begin();
