// Puts the page together, and keeps its parts in step: what one chooses, all show.

import { make, section } from "./data.js";
import { Model } from "./model.js";
import { GraphView } from "./graphview.js";
import { Texts } from "./texts.js";
import { Search } from "./search.js";
import { Outline } from "./outline.js";
import { Details } from "./details.js";
import { readLink, writeLink } from "./link.js";
import { afterPrint, beforePrint, download, svgOf } from "./export.js";

const COLOURS = ["ground", "group", "line", "edge", "dim", "focus", "match", "in", "out"];
const find = (id) => document.getElementById(id);

class App {
  constructor(graph) {
    this.graph = graph;
    this.wheelZooms = true;
    this.sized = new Promise((resolve) => { this.haveSize = resolve; });
    this.models = graph.sides.map((side) => new Model(side));
    this.link = readLink();
    this.pairs = [0, 1].map((here) => {
      const found = new Map();
      for (const pair of graph.pairs) {
        if (!found.has(pair[here])) found.set(pair[here], []);
        found.get(pair[here]).push(pair[1 - here]);
      }
      return found;
    });
    this.readColours();
    this.texts = new Texts(find("texts"), (box) => this.select(this.view, box));
    this.texts.onTab = () => this.remember();
    this.outline = new Outline(find("outline"), (code) => this.select(this.view, code), (number) => this.view.toggle(number));
    this.details = new Details(find("details"), (box) => this.select(this.view, box));
    this.search = new Search(find("search"), find("found"), find("said"), (box) => this.select(this.view, box), (boxes) => this.matched(boxes));
    this.views = this.models.map((model, number) => {
      const holder = make("div", { className: "view", role: "group", "aria-label": model.title });
      if (this.models.length > 1) holder.append(make("h2", { className: "side", textContent: model.title }));
      find("views").append(holder);
      this.restore(model, number);
      return new GraphView(holder, model, this);
    });
    document.body.classList.toggle("tree", innerWidth > 1100);
    find("tree").setAttribute("aria-pressed", String(innerWidth > 1100));
    this.views.forEach((view, number) => {
      const wanted = (number === this.link.side && this.link.overlay) || "difference";
      view.overlay = view.model.overlays.find((one) => one.key === wanted) || null;
    });
    this.listen();
    this.activate(this.views[Math.min(this.link.side, this.views.length - 1)]);
    if (this.link.node !== null) this.select(this.view, this.link.node < this.view.model.count ? this.link.node : null);
  }

  // A view has got its size: show what the link says, or what is selected, or the beginning.
  started(view) {
    view.camera.begin(view.scene);
    const box = view.selected !== null && view.scene.of.get(view.selected);
    if (this.link.view && view === this.view) [view.camera.x, view.camera.y, view.camera.scale] = this.link.view;
    else if (box) view.camera.show(box);
    this.haveSize();
  }

  // Fold as the link says, before the first layout.
  restore(model, number) {
    if (number !== this.link.side) return;
    model.fold = model.folds.find((one) => one.key === this.link.grouping) || model.fold;
    if (this.link.open) model.fold.open = new Set([0, ...this.link.open.filter((one) => one > 0 && one < model.fold.groups.length)]);
  }

  readColours() {
    const asked = document.documentElement.dataset.theme;
    this.dark = asked ? asked === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    this.colours = coloursNow();
  }

  listen() {
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolour());
    const act = (id, what) => find(id).addEventListener("click", what);
    act("fit", () => { this.view.camera.fit(this.view.scene); this.view.draw(); });
    act("larger", () => { this.view.camera.zoom(1.3); this.view.draw(); });
    act("smaller", () => { this.view.camera.zoom(1 / 1.3); this.view.draw(); });
    act("fold", () => this.view.refold(() => this.view.model.fold.closeAll(), null));
    act("unfold", () => this.unfoldAll());
    act("theme", () => { document.documentElement.dataset.theme = this.dark ? "light" : "dark"; this.recolour(); });
    act("svg", () => download(this.picture(), "image/svg+xml", "graph.svg"));
    act("print", () => print());
    act("help", () => find("keys").showModal());
    act("overview", () => this.select(this.view, null));
    act("tree", () => {
      const open = document.body.classList.toggle("tree");
      find("tree").setAttribute("aria-pressed", String(open));
    });
    find("grouping").addEventListener("change", (event) => this.regroup(Number(event.target.value)));
    find("overlay").addEventListener("change", (event) => this.overlay(event.target.value));
    addEventListener("keydown", (event) => this.key(event));
    addEventListener("hashchange", () => location.reload());
    addEventListener("beforeprint", () => { delete document.documentElement.dataset.theme; beforePrint(this.views, lightColours()); });
    addEventListener("afterprint", afterPrint);
  }

  key(event) {
    const typing = event.target.closest("input, select, textarea");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") { find("search").focus(); event.preventDefault(); }
    if (event.key === "?") find("keys").showModal();
    if (event.key === "g") this.view.canvas.focus();
  }

  recolour() {
    this.readColours();
    for (const view of this.views) { view.mapDrawn = null; view.draw(); }
    this.legend();
  }

  // Let a side be the one that the tree, the search, the texts and the details are about.
  async activate(view) {
    if (this.view === view) return;
    this.view = view;
    const number = this.views.indexOf(view), { model } = view;
    this.views.forEach((one) => one.holder.classList.toggle("active", one === view && this.views.length > 1));
    find("grouping").replaceChildren(...model.folds.map((fold, at) => make("option", { value: String(at), textContent: fold.title, selected: fold === model.fold })));
    find("grouping").disabled = model.folds.length < 2;
    const overlays = model.overlays.filter((one) => one.values.some((value) => value !== null));
    find("overlay").replaceChildren(make("option", { value: "", textContent: "kind of node" }),
      ...overlays.map((one) => make("option", { value: one.key, textContent: one.title })));
    this.outline.show(model, view.selected);
    this.overlay(view.overlay?.key || "");
    this.showDetails();
    const [details, texts] = await Promise.all([section("details"), section("texts")]);
    if (this.view !== view) return;
    this.search.of(model, details[number]);
    this.texts.show(texts[number], this.texts.text?.key || this.link.text);
    this.texts.mark(this.boxesOf(view.selected));
    await this.sized;
    if (!document.body.dataset.ready) performance.mark("ready");
    document.body.dataset.ready = "yes";
  }

  picture() { return svgOf(this.view, this.colours); }

  boxesOf(code) {
    if (code === null) return [];
    return code >= 0 ? [code] : [...this.view.model.fold.boxesIn(code)].slice(0, 2000);
  }

  // Select a box or group: in the picture, the tree, the texts; its details are shown.
  select(view, code, { still = false } = {}) {
    if (this.view !== view) this.activate(view);
    const { model } = view;
    view.selected = code;
    if (code !== null) {
      if (model.fold.reveal(code)) { view.place(); this.outline.show(model, code); }
      const box = view.scene.of.get(code);
      if (box && !still) view.camera.show(box);
    }
    this.outline.select(code);
    this.texts.mark(this.boxesOf(code));
    this.showDetails();
    this.pairUp(view);
    view.draw();
    find("now").textContent = code === null ? "nothing selected" : `${model.titleOf(code)} ${code >= 0 ? model.names[code] : `group of ${model.fold.sizes[~code]} nodes`}`;
    this.remember();
  }

  // Of two graphs, select in the other what stands for what is selected in this one.
  pairUp(view) {
    const other = this.views.find((one) => one !== view);
    if (!other) return;
    const here = this.views.indexOf(view);
    const paired = view.selected !== null && view.selected >= 0 ? this.pairs[here].get(view.selected) || [] : [];
    // The last is what the others are made for: a product after the transpose of its weight.
    other.selected = paired.length ? paired[paired.length - 1] : null;
    other.matches = new Set(paired.slice(0, -1));
    let moved = false;
    for (const box of paired) moved = other.model.fold.reveal(box) || moved;
    if (moved) other.place();
    if (other.selected !== null) other.camera.show(other.scene.of.get(other.selected));
    other.draw();
  }

  showDetails() {
    const { model, selected } = this.view;
    this.details.wanted = selected ?? undefined;
    if (selected === null) this.details.whole(model, this.graph.notes);
    else if (selected < 0) this.details.group(model, selected);
    else this.details.box(model, this.views.indexOf(this.view), selected, model.overlays);
    find("overview").hidden = selected === null;
  }

  matched(boxes) {
    const { view } = this, { fold } = view.model;
    view.matches = new Set([...boxes].map((box) => fold.shownFor(box)));
    view.draw();
  }

  folded(view) {
    if (view === this.view) this.outline.show(view.model, view.selected);
    this.remember();
  }

  unfoldAll() {
    let all = true;
    this.view.refold(() => { all = this.view.model.fold.openAll(); }, null);
    find("now").textContent = all ? "all groups are unfolded" : "as many groups are unfolded as a picture can show";
  }

  regroup(number) {
    const { view } = this;
    view.model.fold = view.model.folds[number];
    if (view.selected !== null && view.selected < 0) view.selected = null;
    if (view.selected !== null) view.model.fold.reveal(view.selected);
    view.place();
    view.camera.begin(view.scene);
    this.folded(view);
    view.draw();
  }

  overlay(key) {
    const { view } = this;
    view.overlay = view.model.overlays.find((one) => one.key === key) || null;
    find("overlay").value = view.overlay ? key : "";
    view.draw();
    view.mapDrawn = null;
    this.legend();
    this.remember();
  }

  legend() {
    const { view } = this, { colouring } = (view.look(), view);
    const items = colouring.legend().map(([colour, text]) => {
      const sample = make("span", { className: "sample" });
      sample.style.background = colour;
      return make("li", {}, sample, text);
    });
    find("legend").replaceChildren(make("ul", {}, ...items), ...(view.overlay?.note ? [make("p", { textContent: view.overlay.note })] : []));
  }

  moved(view) {
    if (view !== this.view) return;
    clearTimeout(this.later);
    this.later = setTimeout(() => this.remember(), 400);
  }

  remember() {
    if (!document.body.dataset.ready) return;
    const { view } = this, { model, camera, selected } = view;
    const open = [...model.fold.open].filter((one) => one > 0);
    writeLink({
      s: this.views.indexOf(view) || null,
      n: selected !== null && selected >= 0 ? selected : null,
      g: model.fold.key,
      o: view.overlay?.key,
      t: this.texts.text?.key,
      u: open.length <= 300 ? open.join(".") || "0" : null,
      v: [camera.x, camera.y].map((one) => one.toFixed(0)).concat(camera.scale.toFixed(4)).join("_"),
    });
  }
}

function coloursNow() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(COLOURS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

function lightColours() {
  const before = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
  const found = coloursNow();
  if (before) document.documentElement.dataset.theme = before;
  else delete document.documentElement.dataset.theme;
  return found;
}

globalThis.relay2relax = new App(await section("graph"));
