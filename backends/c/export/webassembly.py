"""The JavaScript module with which a web page, or Node, runs a library for WebAssembly."""

from __future__ import annotations

import json

from relay2relax.backends.c.export.library import Library, Tensor
from relay2relax.relax_ir.ir.text import extent_text
from relay2relax.tir.extent import canonical

# Typed arrays of JavaScript; bool is a byte that is 0 or 1, float16 and bfloat16 are their bits.
_ARRAYS = {
    "float32": "Float32Array", "float64": "Float64Array", "int8": "Int8Array", "int16": "Int16Array",
    "int32": "Int32Array", "int64": "BigInt64Array", "uint8": "Uint8Array", "uint16": "Uint16Array",
    "uint32": "Uint32Array", "uint64": "BigUint64Array", "bool": "Uint8Array", "float16": "Uint16Array",
    "bfloat16": "Uint16Array",
}  # fmt: skip
_TEXT = r"""// The model @, computed in WebAssembly: written by relay2relax for web pages and for Node.
//
//   const model = await load();
//   const [first] = model.run([new Float32Array(12)], [4]);
//
// Tensors are typed arrays in C order: bool is a byte that is 0 or 1, float16 and bfloat16 are their bits. Extents
// that have names are numbers, in their order.

export const inputs = $inputs;
export const outputs = $outputs;
export const extents = $extents;
const weights = $weights;

/** What `run` returns, in words. */
const PROBLEMS = ["", "memory is lacking", "data name an element that a tensor does not have",
  "the extents do not fit"];

/** The little of a system that the library asks for: one file, its weights, that can be read from begin to end. */
function system(file, memory) {
  let at = 0;
  const view = () => new DataView(memory().buffer);
  const fail = 8;
  const calls = {
    fd_prestat_get(fd, result) {
      if (fd !== 3) return fail;
      view().setUint32(result, 0, true);
      view().setUint32(result + 4, 1, true);
      return 0;
    },
    fd_prestat_dir_name(fd, path) {
      view().setUint8(path, 46);
      return 0;
    },
    path_open(...given) {
      at = 0;
      view().setUint32(given[8], 4, true);
      return 0;
    },
    fd_fdstat_get(fd, result) {
      for (let i = 0; i < 24; ++i) view().setUint8(result + i, 0);
      view().setUint8(result, fd === 3 ? 3 : 4);
      view().setBigUint64(result + 8, 0xffffffffffffffffn, true);
      view().setBigUint64(result + 16, 0xffffffffffffffffn, true);
      return 0;
    },
    fd_read(fd, vectors, count, result) {
      if (fd !== 4) return fail;
      let total = 0;
      for (let i = 0; i < count; ++i) {
        const place = view().getUint32(vectors + 8 * i, true), size = view().getUint32(vectors + 8 * i + 4, true);
        const part = file.subarray(at, at + size);
        new Uint8Array(memory().buffer).set(part, place);
        at += part.length;
        total += part.length;
      }
      view().setUint32(result, total, true);
      return 0;
    },
    fd_seek(fd, offset, whence, result) {
      if (fd !== 4) return fail;
      at = Number(offset) + [0, at, file.length][whence];
      view().setBigUint64(result, BigInt(at), true);
      return 0;
    },
    fd_close: () => 0,
    proc_exit(code) { throw new Error(`the library ended with ${code}`); },
  };
  return new Proxy(calls, { get: (known, name) => known[name] ?? (() => fail) });
}

async function bytes(url) {
  if (url.protocol === "file:") return new Uint8Array(await (await import("node:fs/promises")).readFile(url));
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
  return new Uint8Array(await answer.arrayBuffer());
}

/** Load the model and its weights from the folder of this module, or another one. */
export async function load(folder = new URL(".", import.meta.url)) {
  const [code, file] = await Promise.all([
    bytes(new URL("@_module.wasm", folder)), weights ? bytes(new URL(weights, folder)) : new Uint8Array(),
  ]);
  return start(code, file);
}

/** Return the model of the bytes of `@_module.wasm` and of the weights. */
export async function start(code, file) {
  let made;
  const { instance } = await WebAssembly.instantiate(code, {
    wasi_snapshot_preview1: system(file, () => made.memory),
  });
  made = instance.exports;
  made._initialize?.();
  const kept = [];
  const room = (size) => {
    const place = made.malloc(size + 64);
    if (!place) throw new Error(PROBLEMS[1]);
    kept.push(place);
    return (place + 63) & ~63;
  };
  const release = () => { while (kept.length) made.free(kept.pop()); };
  const model = weights ? made.@_load(text(made, room, weights)) : made.@_load();
  release();
  if (!model) throw new Error("the file is not the one of this program's weights, or memory is lacking");
  const tensors = [...inputs, ...outputs];

  /** Return how many bytes each input and each output has. */
  function sizes(given = []) {
    const place = room(8 * tensors.length);
    made.@_sizes(...given.map(BigInt), place);
    const found = Array.from(new BigInt64Array(made.memory.buffer, place, tensors.length), Number);
    release();
    return found;
  }

  /** Return the outputs: typed arrays of their own. */
  function run(data, given = []) {
    const size = sizes(given);
    if (size[0] < 0) throw new Error(PROBLEMS[3]);
    try {
      const places = size.map((one) => room(one));
      data.forEach((one, i) => {
        const part = new Uint8Array(one.buffer, one.byteOffset, one.byteLength);
        if (part.length !== size[i]) throw new Error(`${inputs[i].name} has ${part.length} bytes, not ${size[i]}`);
        new Uint8Array(made.memory.buffer).set(part, places[i]);
      });
      const failed = made.@_run(model, ...given.map(BigInt), ...places);
      if (failed) throw new Error(PROBLEMS[failed] ?? `${failed}`);
      return outputs.map((one, i) => {
        const begin = places[inputs.length + i];
        return new ARRAYS[one.dtype](made.memory.buffer.slice(begin, begin + size[inputs.length + i]));
      });
    } finally {
      release();
    }
  }
  return { run, sizes, free: () => made.@_free(model) };
}

/** Put a text where C finds it. */
function text(made, room, said) {
  const coded = new TextEncoder().encode(`${said}\0`), place = room(coded.length);
  new Uint8Array(made.memory.buffer).set(coded, place);
  return place;
}

/** The arrays of each kind of element. */
export const ARRAYS = { $arrays };
"""


def module_text(library: Library) -> str:
    """Return ``NAME.js``, a module of JavaScript beside ``NAME_module.wasm``."""
    weights = f"{library.name}_weights.bin" if library.has_weights else ""
    words = {
        "$inputs": _listed(library.inputs, library),
        "$outputs": _listed(library.outputs, library),
        "$extents": _coded(list(library.extents.values())),
        "$weights": _coded(weights),
        "$arrays": ", ".join(f"{dtype}: {array}" for dtype, array in _ARRAYS.items()),
    }
    text = _TEXT.replace("@", library.name)
    for word, said in words.items():
        text = text.replace(word, said, 1)
    return text


def _coded(value: object) -> str:
    # The text may stand in a page: nothing in it ends a script.
    return json.dumps(value).replace("<", "\\u003c")


def _listed(tensors: tuple[Tensor, ...], library: Library) -> str:
    names = library.extents.__getitem__
    rows = [
        {
            "name": one.original,
            "dtype": one.dtype,
            "shape": [
                int(text) if text.isdigit() else text
                for text in (extent_text(canonical(extent), names) for extent in one.shape)
            ],
        }
        for one in tensors
    ]
    return _coded(rows)
