// Coordinates: layers and orders were laid out ahead, group by group. Here each gets its size, as
// groups are folded or not, and each item its place: near what it is connected with, in its order.

import { BEND, BOX, GROUP, INTO, OUT } from "./model.js";

const HIGH = 40, FOLDED_HIGH = 46, HEAD = 26, PAD = 14, LAYER_GAP = 34;
const SWEEPS = 6;

// Return what is drawn: boxes {code, x, y, w, h, open} and edges {values, source, target, points}.
export function placed(model) {
  const frames = new Map();
  for (const number of innermostFirst(model.fold)) frames.set(number, frameOf(model, number, frames));
  const scene = { boxes: [], edges: [], width: frames.get(0).w, height: frames.get(0).h };
  const stack = [{ number: 0, x: 0, y: 0, depth: 0 }];
  while (stack.length) {
    const { number, x, y, depth } = stack.pop();
    const group = model.fold.groups[number], frame = frames.get(number);
    const top = y + (number ? HEAD : 0), left = x + PAD;
    for (let item = 0; item < frame.x.length; item++) {
      const kind = group.items[2 * item], ref = group.items[2 * item + 1];
      if (kind !== BOX && kind !== GROUP) continue;
      const w = frame.w_of[item], h = frame.h_of[item], code = kind === BOX ? ref : ~ref;
      const open = kind === GROUP && model.fold.open.has(ref);
      const box = { code, x: left + frame.x[item] - w / 2, y: top + frame.y[item], w, h, open, depth };
      scene.boxes.push(box);
      if (open) stack.push({ number: ref, x: box.x, y: box.y, depth: depth + 1 });
    }
    for (const chain of group.chains) scene.edges.push(edgeOf(group, frame, frames, chain, left, top, model));
  }
  return scene;
}

// The open groups, each after those in it.
function innermostFirst(fold) {
  const order = [0];
  for (let at = 0; at < order.length; at++) {
    for (const code of fold.groups[order[at]].codes) if (code < 0 && fold.open.has(~code)) order.push(~code);
  }
  return order.reverse();
}

function frameOf(model, number, frames) {
  const group = model.fold.groups[number], count = group.items.length / 2;
  const frame = { x: new Float64Array(count), y: new Float64Array(count), w_of: new Float64Array(count), h_of: new Float64Array(count) };
  for (let item = 0; item < count; item++) {
    const kind = group.items[2 * item], ref = group.items[2 * item + 1];
    const inner = kind === GROUP && frames.get(ref);
    frame.w_of[item] = inner ? inner.w : kind === BOX ? widthOf(model, ref) : kind === GROUP ? groupWidth(model, ref) : 1;
    frame.h_of[item] = inner ? inner.h : kind === BOX ? HIGH : kind === GROUP ? FOLDED_HIGH : 0;
  }
  const near = neighbours(group, count);
  sideways(group, frame, near);
  downwards(group, frame);
  let low = Infinity, high = -Infinity;
  for (let item = 0; item < count; item++) {
    low = Math.min(low, frame.x[item] - frame.w_of[item] / 2);
    high = Math.max(high, frame.x[item] + frame.w_of[item] / 2);
  }
  if (!count) [low, high] = [0, 0];
  for (let item = 0; item < count; item++) frame.x[item] -= low;
  const head = number ? Math.min(260, 60 + 6.2 * model.titleOf(~number).length) : 0;
  const wide = Math.max(high - low, head);
  if (wide > high - low) for (let item = 0; item < count; item++) frame.x[item] += (wide - high + low) / 2;
  frame.w = wide + 2 * PAD;
  frame.h = frame.bottom + (number ? HEAD : 0) + PAD;
  return frame;
}

const shown = (text, most) => Math.min(most, text.length);
function widthOf(model, box) {
  return Math.max(84, 22 + 7.2 * shown(model.opOf(box), 26), 22 + 6 * shown(model.labelOf(box), 32));
}
function groupWidth(model, number) { return Math.max(110, 46 + 6.8 * shown(model.titleOf(~number), 34)); }

function neighbours(group, count) {
  const above = Array.from({ length: count }, () => []), below = Array.from({ length: count }, () => []);
  for (const [source, target, , bends] of group.chains) {
    if (bends === -1) continue;
    const way = [source, ...bends, target];
    for (let at = 1; at < way.length; at++) {
      // Long edges are straight before others are.
      const weight = at > 1 && at < way.length - 1 ? 6 : way.length > 2 ? 2 : 1;
      above[way[at]].push(way[at - 1], weight);
      below[way[at - 1]].push(way[at], weight);
    }
  }
  return { above, below };
}

function sideways(group, frame, { above, below }) {
  for (const layer of group.layers) {
    let x = 0;
    layer.forEach((item, at) => {
      if (at) x += apart(group, frame, layer[at - 1], item);
      frame.x[item] = x;
    });
    for (const item of layer) frame.x[item] -= x / 2;
  }
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const near = sweep % 2 ? below : above;
    const layers = sweep % 2 ? [...group.layers].reverse() : group.layers;
    for (const layer of layers) settle(group, frame, layer, near);
  }
}

function apart(group, frame, one, other) {
  const thin = group.items[2 * one] >= INTO && group.items[2 * other] >= INTO;
  return (frame.w_of[one] + frame.w_of[other]) / 2 + (thin ? 12 : 26);
}

// Move the items of a layer to the middles of their neighbours, as near as their order allows: the
// least squares under that order, by pooling of neighbours that would pass each other.
function settle(group, frame, layer, near) {
  const blocks = [];
  let offset = 0;
  layer.forEach((item, at) => {
    if (at) offset += apart(group, frame, layer[at - 1], item);
    let sum = 0, weight = 0;
    for (let one = 0; one < near[item].length; one += 2) {
      sum += frame.x[near[item][one]] * near[item][one + 1];
      weight += near[item][one + 1];
    }
    const wanted = weight ? sum / weight : frame.x[item];
    let block = { value: wanted - offset, weight: weight || 0.2, first: at };
    while (blocks.length && blocks[blocks.length - 1].value > block.value) {
      const before = blocks.pop(), total = before.weight + block.weight;
      block = { value: (before.value * before.weight + block.value * block.weight) / total, weight: total, first: before.first };
    }
    blocks.push(block);
  });
  offset = 0;
  let at = 0;
  blocks.forEach((block, number) => {
    const end = number + 1 < blocks.length ? blocks[number + 1].first : layer.length;
    for (; at < end; at++) {
      if (at) offset += apart(group, frame, layer[at - 1], layer[at]);
      frame.x[layer[at]] = block.value + offset;
    }
  });
}

function downwards(group, frame) {
  let y = PAD;
  frame.layer = new Int32Array(frame.x.length);
  frame.tops = [];
  frame.bottoms = [];
  group.layers.forEach((layer, number) => {
    const high = Math.max(0, ...layer.map((item) => frame.h_of[item]));
    for (const item of layer) {
      frame.layer[item] = number;
      frame.y[item] = y + (high - frame.h_of[item]) / 2;
    }
    frame.tops.push(y);
    frame.bottoms.push(y + high);
    y += high + (high ? LAYER_GAP : 10);
  });
  frame.bottom = Math.max(PAD, y - LAYER_GAP);
}

// The way of an edge: x, y of its begin, of both ends of its way through each layer, of its end.
function edgeOf(group, frame, frames, [source, target, values, bends], left, top, model) {
  const begin = port(group, frame, frames, source, OUT, values[0], model), end = port(group, frame, frames, target, INTO, values[0], model);
  const points = [begin.x, begin.y];
  if (bends !== -1) {
    for (const bend of bends) {
      const layer = frame.layer[bend];
      points.push(frame.x[bend], frame.tops[layer], frame.x[bend], frame.bottoms[layer]);
    }
  }
  points.push(end.x, end.y);
  for (let at = 0; at < points.length; at += 2) {
    points[at] += left;
    points[at + 1] += top;
  }
  return { values, points, source: codeOf(group, source), target: codeOf(group, target), far: bends === -1,
    out: group.items[2 * target] === OUT, into: group.items[2 * source] === INTO };
}

function codeOf(group, item) {
  const kind = group.items[2 * item], ref = group.items[2 * item + 1];
  return kind === BOX ? ref : kind === GROUP ? ~ref : null;
}

// Where a value leaves an item (OUT) or enters it (INTO).
function port(group, frame, frames, item, way, value, model) {
  const kind = group.items[2 * item], ref = group.items[2 * item + 1];
  const edge = way === OUT ? frame.y[item] + frame.h_of[item] : frame.y[item];
  if (kind === GROUP && frames.has(ref)) {
    const inner = frames.get(ref), at = model.fold.groups[ref].at.get(way + ":" + value);
    if (at !== undefined) return { x: frame.x[item] - inner.w / 2 + PAD + inner.x[at], y: edge };
  }
  return { x: frame.x[item], y: edge };
}

export { BEND };
