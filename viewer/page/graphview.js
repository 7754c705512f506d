// A graph on a canvas, with its small map: moved, enlarged and folded by mouse, fingers and keys.

import { make } from "./data.js";
import { placed } from "./place.js";
import { Scene } from "./scene.js";
import { CanvasPainter, paintScene } from "./paint.js";
import { Camera } from "./camera.js";
import { Colouring } from "./overlay.js";

export class GraphView {
  constructor(holder, model, app) {
    Object.assign(this, { holder, model, app, overlay: null, selected: null, matches: new Set() });
    this.canvas = make("canvas", { tabIndex: 0, role: "application", className: "graph", "aria-roledescription": "graph",
      "aria-label": `Graph of ${model.title}. Arrow keys go from node to node, Enter folds groups, + and - enlarge; the outline has the same as a tree.` });
    this.map = make("canvas", { className: "map", "aria-hidden": "true" });
    holder.append(this.canvas, this.map);
    this.camera = new Camera();
    this.frames = 0;
    this.place();
    this.listen();
  }

  place() {
    this.scene = new Scene(placed(this.model));
    this.mapDrawn = null;
  }

  // Fold or unfold, and keep a box where it is on the screen.
  refold(change, anchor) {
    const before = anchor !== null && this.scene.of.get(anchor);
    change();
    this.place();
    const after = anchor !== null && this.scene.of.get(anchor);
    if (before && after) {
      this.camera.x += after.x + after.w / 2 - before.x - before.w / 2;
      this.camera.y += after.y - before.y;
    }
    this.draw();
    this.app.folded(this);
  }

  toggle(number) {
    if (number > 0) this.refold(() => this.model.fold.toggle(number), ~number);
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.holder, dense = devicePixelRatio || 1;
    if (!width || !height) return;
    const first = this.camera.width === 1;
    this.canvas.width = Math.round(width * dense);
    this.canvas.height = Math.round(height * dense);
    const wide = Math.min(150, Math.max(36, (160 * this.scene.width) / this.scene.height));
    this.map.style.width = `${wide}px`;
    this.map.style.height = `${Math.min(160, Math.max(36, (wide * this.scene.height) / this.scene.width))}px`;
    this.map.width = Math.round(this.map.clientWidth * dense);
    this.map.height = Math.round(this.map.clientHeight * dense);
    this.mapDrawn = null;
    Object.assign(this.camera, { width, height });
    if (first) this.app.started(this);
    this.paint();
  }

  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.paint(); });
  }

  look() {
    const { selected, model } = this, { colours } = this.app;
    if (!this.colouring || this.colouring.overlay !== this.overlay || this.colouring.dark !== this.app.dark || this.colouring.fold !== model.fold) {
      this.colouring = new Colouring(model, this.overlay, this.app.dark);
      this.colouring.fold = model.fold;
    }
    const parents = new Set(selected !== null && selected >= 0 ? model.parents[selected] : []);
    return {
      colours,
      selected,
      scale: this.camera.scale,
      fill: (code) => this.colouring.fill(code),
      matches: (code) => this.matches.has(code),
      marks: (edge) => this.markOf(edge, parents),
    };
  }

  // Whether an edge is one of the selected box: "in", "out", or not.
  markOf(edge, parents) {
    const { selected, model } = this;
    if (selected === null) return null;
    if (selected < 0) return edge.target === selected ? "in" : edge.source === selected ? "out" : null;
    if (edge.values.includes(selected)) return "out";
    if (!edge.values.some((value) => parents.has(value))) return null;
    const { target } = edge;
    if (target === selected || (target !== null && target < 0 && model.fold.contains(~target, selected))) return "in";
    return target === null && !edge.into ? "in" : null;
  }

  paint() {
    const { canvas, camera } = this, context = canvas.getContext("2d"), dense = devicePixelRatio || 1;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = this.app.colours.ground;
    context.fillRect(0, 0, canvas.width, canvas.height);
    const scale = camera.scale * dense;
    context.setTransform(scale, 0, 0, scale, -camera.x * scale, -camera.y * scale);
    const [left, top, right, bottom] = camera.area;
    paintScene(new CanvasPainter(context), this.scene, this.model, this.look(), [left - 60, top - 60, right + 60, bottom + 60]);
    this.paintMap();
    this.frames++;
    this.app.moved(this);
  }

  paintMap() {
    const { map, scene, camera } = this, context = map.getContext("2d");
    const [x, y, toX, toY] = camera.area;
    // Where all is in view, the map says nothing.
    map.style.visibility = x <= 0 && y <= 0 && toX >= scene.width && toY >= scene.height ? "hidden" : "visible";
    if (!map.width) return;
    const scale = Math.min(map.width / (scene.width + 1), map.height / (scene.height + 1));
    this.mapScale = scale / (devicePixelRatio || 1);
    const key = `${this.app.dark} ${this.overlay?.key}`;
    if (this.mapDrawn !== key) {
      this.mapDrawn = key;
      this.mapPicture = new OffscreenCanvas(map.width, map.height);
      const drawing = this.mapPicture.getContext("2d"), look = this.look();
      drawing.fillStyle = this.app.colours.group;
      drawing.fillRect(0, 0, map.width, map.height);
      for (const box of scene.boxes) {
        if (box.open) continue;
        drawing.fillStyle = this.overlay ? look.fill(box.code).fill : this.app.colours.dim;
        drawing.fillRect(box.x * scale, box.y * scale, Math.max(1, box.w * scale), Math.max(1, box.h * scale));
      }
    }
    context.drawImage(this.mapPicture, 0, 0);
    const [left, top, right, bottom] = camera.area;
    context.strokeStyle = this.app.colours.focus;
    context.lineWidth = 2;
    context.strokeRect(left * scale + 1, top * scale + 1, Math.max(4, (right - left) * scale - 2), Math.max(4, (bottom - top) * scale - 2));
    const chosen = this.selected !== null && scene.of.get(this.selected);
    if (chosen) {
      context.fillStyle = this.app.colours.focus;
      context.fillRect(chosen.x * scale - 2, chosen.y * scale - 2, Math.max(5, chosen.w * scale + 4), Math.max(5, chosen.h * scale + 4));
    }
  }

  // --- mouse, fingers, keys ---

  listen() {
    const { canvas, map } = this;
    new ResizeObserver(() => this.resize()).observe(this.holder);
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("dblclick", (event) => this.double(event));
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("focus", () => this.app.activate(this));
    canvas.addEventListener("pointermove", (event) => { if (!event.buttons) this.hover(event); });
    map.addEventListener("pointerdown", (event) => {
      map.setPointerCapture(event.pointerId);
      this.jump(event);
      map.onpointermove = (moved) => this.jump(moved);
      map.onpointerup = () => { map.onpointermove = null; };
    });
  }

  hover(event) {
    const box = this.scene.at(...this.camera.toScene(event.offsetX, event.offsetY));
    this.canvas.title = box && box.code >= 0 ? `${this.model.opOf(box.code)}  ${this.model.names[box.code]}\n${this.model.typeOf(box.code)}` : box ? this.model.titleOf(box.code) : "";
    this.canvas.classList.toggle("over", Boolean(box));
  }

  press(event) {
    if (event.button > 1) return;
    this.fingers ??= new Map();
    this.fingers.set(event.pointerId, [event.offsetX, event.offsetY]);
    this.dragged = this.fingers.size > 1;
    this.canvas.setPointerCapture(event.pointerId);
    this.canvas.onpointermove = (moved) => this.drag(moved);
    this.canvas.onpointerup = this.canvas.onpointercancel = (lifted) => this.lift(lifted);
  }

  drag(event) {
    const before = this.fingers.get(event.pointerId);
    if (!before) return;
    const now = [event.offsetX, event.offsetY];
    if (Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]) < 3 && !this.dragged) return;
    this.dragged = true;
    if (this.fingers.size === 2) {
      const [, other] = [...this.fingers].find(([id]) => id !== event.pointerId);
      const away = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]) || 1;
      this.camera.zoom(away(now) / away(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    } else this.camera.pan(now[0] - before[0], now[1] - before[1]);
    this.fingers.set(event.pointerId, now);
    this.draw();
  }

  lift(event) {
    this.fingers.delete(event.pointerId);
    if (this.fingers.size) return;
    this.canvas.onpointermove = this.canvas.onpointerup = this.canvas.onpointercancel = null;
    if (this.dragged) return;
    const box = this.scene.at(...this.camera.toScene(event.offsetX, event.offsetY));
    this.app.select(this, box ? box.code : null, { still: true });
  }

  wheel(event) {
    event.preventDefault();
    const step = event.deltaMode === 1 ? 16 : 1;
    if (event.ctrlKey || event.metaKey || !event.shiftKey && event.deltaX === 0 && this.app.wheelZooms) {
      this.camera.zoom(Math.exp(-event.deltaY * step * (event.ctrlKey ? 0.01 : 0.0015)), event.offsetX, event.offsetY);
    } else this.camera.pan(event.shiftKey ? -event.deltaY * step : -event.deltaX * step, event.shiftKey ? 0 : -event.deltaY * step);
    this.draw();
  }

  double(event) {
    const box = this.scene.at(...this.camera.toScene(event.offsetX, event.offsetY));
    if (box && box.code < 0) this.toggle(~box.code);
  }

  jump(event) {
    this.camera.centre(event.offsetX / this.mapScale, event.offsetY / this.mapScale);
    this.draw();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const pan = { ArrowLeft: [90, 0], ArrowRight: [-90, 0], ArrowUp: [0, 90], ArrowDown: [0, -90] }[event.key];
    if (pan && (event.shiftKey || this.selected === null)) {
      if (event.shiftKey || !this.step(event.key)) { this.camera.pan(...pan); this.draw(); }
    } else if (pan) this.step(event.key);
    else if (event.key === "+" || event.key === "=") { this.camera.zoom(1.25); this.draw(); }
    else if (event.key === "-") { this.camera.zoom(0.8); this.draw(); }
    else if (event.key === "0" || event.key === "f") { this.camera.fit(this.scene); this.draw(); }
    else if ((event.key === "Enter" || event.key === " ") && this.selected !== null) this.toggle(this.selected < 0 ? ~this.selected : 0);
    else if (event.key === "Backspace" && this.selected !== null) this.outwards();
    else if (event.key === "Escape") this.app.select(this, null);
    else return;
    event.preventDefault();
  }

  // Fold the group around what is selected.
  outwards() {
    const { fold } = this.model, group = this.selected >= 0 ? fold.home[this.selected] : fold.groups[~this.selected].parent;
    if (group <= 0) return;
    this.refold(() => fold.open.delete(group), ~group);
    this.app.select(this, ~group);
  }

  // Go along edges: up to what is taken, down to what takes it, sideways to what stands beside it.
  step(key) {
    const { scene, selected } = this;
    const box = selected !== null && scene.of.get(selected);
    if (!box) {
      const first = scene.boxes.find((one) => one.depth === 0);
      if (first) this.app.select(this, first.code);
      return Boolean(first);
    }
    const middle = (one) => one.x + one.w / 2;
    let found;
    if (key === "ArrowUp" || key === "ArrowDown") {
      const up = key === "ArrowUp";
      const codes = selected >= 0 ? (up ? this.model.parents : this.model.children)[selected].map((one) => this.model.fold.shownFor(one))
        : scene.edges.filter((edge) => (up ? edge.target : edge.source) === selected).map((edge) => (up ? edge.source : edge.target));
      found = codes.map((code) => scene.of.get(code)).filter((one) => one && one !== box);
      found.sort((a, b) => Math.abs(middle(a) - middle(box)) - Math.abs(middle(b) - middle(box)));
    } else {
      const right = key === "ArrowRight";
      found = scene.boxesIn(-1e9, box.y, 1e9, box.y + box.h).filter((one) => !one.open && one !== box && (right ? middle(one) > middle(box) : middle(one) < middle(box)));
      found.sort((a, b) => Math.abs(middle(a) - middle(box)) - Math.abs(middle(b) - middle(box)));
    }
    if (found.length) this.app.select(this, found[0].code);
    return true;
  }
}
