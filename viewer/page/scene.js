// What is drawn, found by where it is.

const STRIPE = 400;

export class Scene {
  constructor({ boxes, edges, width, height }) {
    boxes.sort((a, b) => a.depth - b.depth);
    Object.assign(this, { boxes, edges, width, height });
    this.of = new Map(boxes.map((box) => [box.code, box]));
    this.boxStripes = new Map();
    this.edgeStripes = new Map();
    for (const box of boxes) this.note(this.boxStripes, box, box.y, box.y + box.h);
    for (const edge of edges) {
      const { points } = edge;
      edge.top = Math.min(points[1], points[points.length - 1]);
      edge.bottom = Math.max(points[1], points[points.length - 1]);
      edge.left = Infinity;
      edge.right = -Infinity;
      for (let at = 0; at < points.length; at += 2) {
        edge.left = Math.min(edge.left, points[at]);
        edge.right = Math.max(edge.right, points[at]);
      }
      if (edge.far) {
        this.note(this.edgeStripes, edge, points[1], points[1] + 30);
        this.note(this.edgeStripes, edge, points[3] - 30, points[3]);
      } else this.note(this.edgeStripes, edge, edge.top, edge.bottom);
    }
    boxes.forEach((box, number) => { box.number = number; });
    edges.forEach((edge, number) => { edge.number = number; });
  }

  note(stripes, thing, top, bottom) {
    for (let stripe = Math.floor(top / STRIPE); stripe <= Math.floor(bottom / STRIPE); stripe++) {
      if (!stripes.has(stripe)) stripes.set(stripe, []);
      stripes.get(stripe).push(thing);
    }
  }

  within(stripes, top, bottom) {
    const found = new Set();
    for (let stripe = Math.floor(top / STRIPE); stripe <= Math.floor(bottom / STRIPE); stripe++) {
      for (const thing of stripes.get(stripe) || []) found.add(thing);
    }
    return found;
  }

  // The boxes in a rectangle, groups before what is in them.
  boxesIn(left, top, right, bottom) {
    if (left <= 0 && top <= 0 && right >= this.width && bottom >= this.height) return this.boxes;
    const found = [...this.within(this.boxStripes, top, bottom)].filter(
      (box) => box.x <= right && box.x + box.w >= left && box.y <= bottom && box.y + box.h >= top);
    return found.sort((a, b) => a.depth - b.depth);
  }

  edgesIn(left, top, right, bottom) {
    if (left <= 0 && top <= 0 && right >= this.width && bottom >= this.height) return this.edges;
    return [...this.within(this.edgeStripes, top, bottom)].filter((edge) => edge.left <= right && edge.right >= left);
  }

  // The innermost box at a point; of an open group its head.
  at(x, y) {
    const found = this.boxesIn(x, y, x, y).reverse();
    return found.find((box) => !box.open || y < box.y + 26) || null;
  }
}
