// Drawing of boxes and edges by a painter: a canvas on the screen, or a text of SVG.

export class CanvasPainter {
  constructor(context) { this.context = context; }

  box(x, y, w, h, radius, fill, stroke, width, dash) {
    const { context } = this;
    context.beginPath();
    context.roundRect(x, y, w, h, radius);
    if (fill) { context.fillStyle = fill; context.fill(); }
    if (stroke) {
      context.strokeStyle = stroke;
      context.lineWidth = width;
      context.setLineDash(dash || []);
      context.stroke();
    }
  }

  curves(edges, stroke, width, dash) {
    const { context } = this;
    context.strokeStyle = stroke;
    context.lineWidth = width;
    context.setLineDash(dash || []);
    context.beginPath();
    for (const { points } of edges) {
      context.moveTo(points[0], points[1]);
      for (const step of steps(points)) {
        if (step.length === 2) context.lineTo(...step);
        else context.bezierCurveTo(...step);
      }
    }
    context.stroke();
  }

  patches(boxes, fill) {
    const { context } = this;
    context.fillStyle = fill;
    context.beginPath();
    for (const { x, y, w, h } of boxes) context.rect(x, y, w, h);
    context.fill();
  }

  triangle(x, y, size, fill) {
    const { context } = this;
    context.fillStyle = fill;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x - size / 2, y - size);
    context.lineTo(x + size / 2, y - size);
    context.fill();
  }

  text(text, x, y, size, fill, { bold = false, middle = false, halo = null } = {}) {
    const { context } = this;
    context.font = `${bold ? "600 " : ""}${size}px system-ui, sans-serif`;
    context.textAlign = middle ? "center" : "left";
    if (halo) {
      context.strokeStyle = halo;
      context.lineWidth = 3;
      context.setLineDash([]);
      context.strokeText(text, x, y);
    }
    context.fillStyle = fill;
    context.fillText(text, x, y);
  }
}

export class SvgPainter {
  constructor() { this.parts = []; }

  box(x, y, w, h, radius, fill, stroke, width, dash) {
    this.parts.push(`<rect x="${round(x)}" y="${round(y)}" width="${round(w)}" height="${round(h)}" rx="${radius}" fill="${fill || "none"}"` +
      (stroke ? ` stroke="${stroke}" stroke-width="${width}"` : "") + dashes(dash) + "/>");
  }

  curves(edges, stroke, width, dash) {
    for (const { points } of edges) {
      const way = steps(points).map((step) => (step.length === 2 ? "L" : "C") + step.map(round).join(" "));
      this.parts.push(`<path d="M${round(points[0])} ${round(points[1])}${way.join("")}" fill="none" stroke="${stroke}" stroke-width="${width}"${dashes(dash)}/>`);
    }
  }

  patches(boxes, fill) { for (const { x, y, w, h } of boxes) this.box(x, y, w, h, 0, fill); }

  triangle(x, y, size, fill) {
    this.parts.push(`<path d="M${round(x)} ${round(y)}l${-size / 2} ${-size}h${size}z" fill="${fill}"/>`);
  }

  text(text, x, y, size, fill, { bold = false, middle = false, halo = null } = {}) {
    this.parts.push(`<text x="${round(x)}" y="${round(y)}" font-size="${size}" fill="${fill}"` + (bold ? ' font-weight="600"' : "") +
      (middle ? ' text-anchor="middle"' : "") + (halo ? ` stroke="${halo}" stroke-width="3" paint-order="stroke"` : "") + `>${escaped(text)}</text>`);
  }

  toString(width, height, background) {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${Math.ceil(width)}" height="${Math.ceil(height)}" viewBox="0 0 ${Math.ceil(width)} ${Math.ceil(height)}" font-family="system-ui, sans-serif">` +
      `<rect width="100%" height="100%" fill="${background}"/>${this.parts.join("")}</svg>`;
  }
}

const round = (number) => Math.round(number * 10) / 10;
const dashes = (dash) => (dash ? ` stroke-dasharray="${dash.join(" ")}"` : "");
export const escaped = (text) => text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);

// The way from the first point: curves between layers, lines through them.
function steps(points) {
  const found = [];
  let [x, y] = points;
  for (let at = 2; at < points.length; at += 2) {
    const [toX, toY] = [points[at], points[at + 1]];
    const within = (at / 2) % 2 === 0;
    if (within || Math.abs(toX - x) < 0.5) found.push([toX, toY]);
    else {
      const middle = (y + toY) / 2;
      found.push([x, middle, toX, middle, toX, toY]);
    }
    [x, y] = [toX, toY];
  }
  return found;
}

// Draw the part of a scene in a rectangle. `look` says how: colours, selection, overlay, scale.
export function paintScene(painter, scene, model, look, area) {
  const { colours, scale } = look;
  // From afar boxes are patches, and from very far edges are too thin to be seen.
  const plain = scale < 0.28, bare = scale < 0.02;
  const boxes = scene.boxesIn(...area), edges = bare ? [] : scene.edgesIn(...area);
  for (const box of boxes) if (box.open) paintOpen(painter, box, model, look);
  const near = edges.filter((edge) => !edge.far);
  const marked = near.filter((edge) => look.marks(edge));
  painter.curves(near.filter((edge) => !look.marks(edge)), colours.edge, Math.max(1.1, 0.6 / scale));
  painter.curves(marked.filter((edge) => look.marks(edge) === "in"), colours.in, Math.max(2.4, 1.4 / scale));
  painter.curves(marked.filter((edge) => look.marks(edge) === "out"), colours.out, Math.max(2.4, 1.4 / scale), [7 / Math.min(1, scale), 3 / Math.min(1, scale)]);
  if (!plain) for (const edge of near) if (!edge.out) painter.triangle(edge.points[edge.points.length - 2], edge.points[edge.points.length - 1], 6, edgeColour(edge, look));
  for (const edge of edges) if (edge.far && !plain) paintFar(painter, edge, model, look);
  if (scale > 0.55) for (const edge of near) paintLabel(painter, edge, model, look);
  if (plain) paintPatches(painter, boxes, look);
  else for (const box of boxes) if (!box.open) paintBox(painter, box, model, look);
}

function edgeColour(edge, look) {
  const mark = look.marks(edge);
  return mark ? look.colours[mark] : look.colours.edge;
}

function paintOpen(painter, box, model, look) {
  const { colours } = look, selected = look.selected === box.code;
  painter.box(box.x, box.y, box.w, box.h, 8, box.depth % 2 ? colours.ground : colours.group, selected ? colours.focus : colours.line, selected ? 3 : 1);
  if (look.scale >= 0.28) painter.text(cut("▾ " + model.titleOf(box.code), (box.w - 20) / 6.4), box.x + 10, box.y + 17, 12, colours.dim, { bold: true });
}

// Boxes of one colour are drawn together, which is what takes the time where there are thousands.
function paintPatches(painter, boxes, look) {
  const patches = new Map();
  for (const box of boxes) {
    if (box.open) continue;
    const { fill } = look.fill(box.code);
    if (!patches.has(fill)) patches.set(fill, []);
    patches.get(fill).push(box);
  }
  for (const [fill, found] of patches) painter.patches(found, fill);
  for (const box of boxes) {
    if (look.selected === box.code || look.matches(box.code)) {
      painter.box(box.x, box.y, box.w, box.h, 0, null, look.selected === box.code ? look.colours.focus : look.colours.match, 3 / look.scale);
    }
  }
}

function paintBox(painter, box, model, look) {
  const { colours } = look, { code } = box, selected = look.selected === code;
  const { fill, ink, value } = look.fill(code);
  const group = code < 0;
  if (group) painter.box(box.x + 4, box.y - 3, box.w - 8, box.h, 6, colours.group, colours.line, 1);
  painter.box(box.x, box.y, box.w, box.h, code >= 0 && model.kind[code] === 1 ? box.h / 2 : 6, fill, colours.line, 1, code >= 0 && model.kind[code] === 2 ? [3, 2] : null);
  if (look.matches(code)) painter.box(box.x - 3, box.y - 3, box.w + 6, box.h + 6, 9, null, colours.match, 3, [2, 2]);
  if (selected) painter.box(box.x - 3, box.y - 3, box.w + 6, box.h + 6, 9, null, colours.focus, 3);
  const middle = box.x + box.w / 2;
  const second = value !== null ? value : group ? `${model.fold.sizes[~code]} nodes` : model.labelOf(code);
  painter.text((group ? "▸ " : "") + cut(model.titleOf(code), (box.w - (group ? 34 : 14)) / 6.6), middle, box.y + box.h / 2 - 3, 12.5, ink, { bold: true, middle: true });
  painter.text(cut(second, (box.w - 12) / 5.6), middle, box.y + box.h / 2 + 12, 10.5, ink, { middle: true });
}

// An edge to far away is drawn as its two ends.
function paintFar(painter, edge, model, look) {
  const [x, y, toX, toY] = edge.points, colour = edgeColour(edge, look);
  const there = edge.target === null ? "…" : model.titleOf(edge.target);
  painter.curves([{ points: [x, y, x, y + 14] }, { points: [toX, toY - 16, toX, toY] }], colour, 1.4, [2, 2]);
  painter.triangle(toX, toY, 6, colour);
  painter.text(cut("to " + there, 22), x + 4, y + 14, 9.5, look.colours.dim, { halo: look.colours.ground });
  painter.text(cut("from " + (model.names[edge.values[0]] || "…"), 26), toX + 5, toY - 9, 9.5, look.colours.dim, { halo: look.colours.ground });
}

function paintLabel(painter, edge, model, look) {
  if (edge.source === null || edge.far) return;
  const { points } = edge, own = edge.source >= 0 && edge.target !== null && edge.target >= 0;
  const field = own ? model.field(edge.source, edge.target) : "";
  const more = edge.values.length > 1 ? ` (+${edge.values.length - 1})` : "";
  const label = (field ? field + " " : "") + cut(model.fieldType(edge.values[0], field), 30) + more;
  painter.text(label, points[0] + 5, Math.min(points[1] + 19, (points[1] + points[3]) / 2 + 4), 9.5, look.colours.dim, { halo: look.colours.ground });
}

export function cut(text, most) {
  return text.length > most ? text.slice(0, Math.max(1, Math.floor(most) - 1)) + "…" : text;
}
