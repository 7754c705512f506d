// The graph as a tree of groups and boxes, for keyboards and for readers of the screen. Folding is
// that of the picture; of long trees only the rows in view are in the page.

import { make } from "./data.js";

const ROW = 24;

export class Outline {
  constructor(holder, onChoose, onFold) {
    Object.assign(this, { holder, onChoose, onFold });
    this.body = make("div", { className: "rows", role: "presentation" });
    holder.append(this.body);
    holder.addEventListener("scroll", () => this.draw());
    holder.addEventListener("keydown", (event) => this.key(event));
    holder.addEventListener("click", (event) => this.click(event));
    new ResizeObserver(() => this.draw()).observe(holder);
  }

  show(model, selected) {
    this.model = model;
    this.selected = selected;
    this.rows = [];
    const stack = model.fold.groups[0].codes.map((code) => ({ code, level: 1 })).reverse();
    while (stack.length) {
      const row = stack.pop();
      this.rows.push(row);
      if (row.code < 0 && model.fold.open.has(~row.code)) {
        const inner = model.fold.groups[~row.code].codes;
        for (let at = inner.length - 1; at >= 0; at--) stack.push({ code: inner[at], level: row.level + 1 });
      }
    }
    this.at = new Map(this.rows.map((row, number) => [row.code, number]));
    this.body.style.height = `${this.rows.length * ROW}px`;
    this.draw();
  }

  select(code) {
    this.selected = code;
    const at = this.at.get(code);
    if (at !== undefined) {
      const top = at * ROW, { scrollTop, clientHeight } = this.holder;
      if (top < scrollTop || top + ROW > scrollTop + clientHeight) this.holder.scrollTop = top - clientHeight / 3;
    }
    this.draw();
  }

  draw() {
    if (!this.rows) return;
    const { model } = this;
    const first = Math.max(0, Math.floor(this.holder.scrollTop / ROW) - 4);
    const last = Math.min(this.rows.length, first + Math.ceil(this.holder.clientHeight / ROW) + 8);
    const shown = [];
    for (let number = first; number < last; number++) {
      const { code, level } = this.rows[number], group = code < 0;
      const row = make("div", { role: "treeitem", className: "row", id: `row-${number}`, "aria-level": String(level),
        "aria-selected": String(code === this.selected), "aria-posinset": String(number + 1), "aria-setsize": String(this.rows.length) });
      if (group) row.setAttribute("aria-expanded", String(model.fold.open.has(~code)));
      row.append(make("span", { className: "fold", textContent: group ? (model.fold.open.has(~code) ? "▾" : "▸") : "", "aria-hidden": "true" }),
        make("b", { textContent: model.titleOf(code) }), " ",
        make("span", { textContent: group ? `${model.fold.sizes[~code]} nodes` : model.labelOf(code) }));
      row.dataset.code = code;
      row.title = group ? model.titleOf(code) : `${model.titleOf(code)}  ${model.labelOf(code)}  ${model.names[code]}`;
      row.style.top = `${number * ROW}px`;
      row.style.paddingLeft = `${Math.min(level, 8) * 12 - 8}px`;
      shown.push(row);
    }
    this.body.replaceChildren(...shown);
    const at = this.at.get(this.selected);
    if (at !== undefined) this.holder.setAttribute("aria-activedescendant", `row-${at}`);
    else this.holder.removeAttribute("aria-activedescendant");
  }

  click(event) {
    const row = event.target.closest(".row");
    if (!row) return;
    const code = Number(row.dataset.code);
    if (event.target.closest(".fold") && code < 0) this.onFold(~code);
    else this.onChoose(code);
  }

  key(event) {
    const at = this.at.get(this.selected) ?? -1, row = this.rows[at];
    const group = row && row.code < 0, open = group && this.model.fold.open.has(~row.code);
    const page = Math.floor(this.holder.clientHeight / ROW);
    let next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: this.rows.length - 1, PageDown: at + page, PageUp: at - page }[event.key];
    if (event.key === "ArrowRight" && group && !open) return this.did(event, () => this.onFold(~row.code));
    if (event.key === "ArrowRight" && open) next = at + 1;
    if (event.key === "ArrowLeft" && open) return this.did(event, () => this.onFold(~row.code));
    if (event.key === "ArrowLeft" && row) {
      next = at;
      while (next > 0 && this.rows[next].level >= row.level) next--;
    }
    if ((event.key === "Enter" || event.key === " ") && group) return this.did(event, () => this.onFold(~row.code));
    if (next === undefined) return;
    this.did(event, () => this.onChoose(this.rows[Math.min(this.rows.length - 1, Math.max(0, next))].code));
  }

  did(event, what) {
    event.preventDefault();
    what();
  }
}
