// The programs beside the graph. Of long ones only the lines in view are in the page.

import { make } from "./data.js";

const LINE = 17, LONGEST = 3000;

export class Texts {
  constructor(holder, onChoose) {
    this.holder = holder;
    this.onChoose = onChoose;
    this.tabs = make("div", { role: "tablist", className: "tabs", "aria-label": "Programs" });
    this.pane = make("div", { className: "text", role: "tabpanel", tabIndex: 0 });
    this.body = make("div", { className: "lines" });
    this.pane.append(this.body);
    holder.append(this.tabs, this.pane);
    this.pane.addEventListener("scroll", () => this.draw());
    this.pane.addEventListener("click", (event) => this.click(event));
    this.pane.addEventListener("keydown", (event) => { if (event.key === "Enter") this.chooseMiddle(); });
    new ResizeObserver(() => this.draw()).observe(this.pane);
    this.texts = [];
    this.marked = new Set();
  }

  show(texts, key) {
    this.texts = texts.map((one) => indexed(one));
    this.tabs.replaceChildren(...this.texts.map((text) => {
      const tab = make("button", { role: "tab", type: "button", id: `tab-${text.key}`, textContent: text.title });
      tab.addEventListener("click", () => this.choose(text.key));
      tab.addEventListener("keydown", (event) => this.alongTabs(event, text));
      return tab;
    }));
    this.holder.hidden = !texts.length;
    if (texts.length) this.choose(this.texts.some((one) => one.key === key) ? key : this.texts[0].key, false);
  }

  alongTabs(event, text) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = this.texts[(this.texts.indexOf(text) + step + this.texts.length) % this.texts.length];
    this.choose(next.key);
    this.tabs.querySelector("[aria-selected=true]").focus();
    event.preventDefault();
  }

  choose(key, tell = true) {
    this.text = this.texts.find((one) => one.key === key);
    for (const tab of this.tabs.children) {
      const own = tab.id === `tab-${key}`;
      tab.setAttribute("aria-selected", own);
      tab.tabIndex = own ? 0 : -1;
    }
    this.pane.setAttribute("aria-labelledby", `tab-${key}`);
    this.body.style.height = `${this.text.lines.length * LINE + 8}px`;
    this.mark(this.boxes || []);
    this.draw(true);
    if (tell) this.onTab?.(key);
  }

  // Mark the lines on which boxes stand, and show the first.
  mark(boxes) {
    this.boxes = boxes;
    if (!this.text) return;
    const lines = boxes.flatMap((box) => this.text.linesOf.get(box) || []).sort((a, b) => a - b);
    this.marked = new Set(lines);
    for (const tab of this.tabs.children) {
      const text = this.texts.find((one) => `tab-${one.key}` === tab.id);
      const count = boxes.reduce((sum, box) => sum + (text.linesOf.get(box) || []).length, 0);
      tab.dataset.count = boxes.length && count ? count : "";
    }
    // A binding says more than the head of its function, which has the parameters.
    const first = lines.find((line) => line > 0) ?? lines[0];
    if (first !== undefined) this.pane.scrollTop = Math.max(0, first * LINE - this.pane.clientHeight / 3);
    this.draw(true);
  }

  draw(anew = false) {
    if (!this.text) return;
    const first = Math.max(0, Math.floor(this.pane.scrollTop / LINE) - 10);
    const last = Math.min(this.text.lines.length, first + Math.ceil(this.pane.clientHeight / LINE) + 20);
    if (!anew && this.first === first && this.last === last) return;
    [this.first, this.last] = [first, last];
    const shown = [];
    for (let number = first; number < last; number++) {
      const line = this.text.lines[number];
      const row = make("div", { className: "line" }, make("span", { className: "number", textContent: number + 1, "aria-hidden": "true" }),
        make("code", { textContent: line.length > LONGEST ? line.slice(0, LONGEST) + " …" : line }));
      row.dataset.line = number;
      row.style.top = `${number * LINE}px`;
      if (this.marked.has(number)) { row.classList.add("marked"); row.setAttribute("aria-current", "true"); }
      if (this.text.boxOf.has(number)) row.classList.add("linked");
      shown.push(row);
    }
    this.body.replaceChildren(...shown);
  }

  click(event) {
    const row = event.target.closest(".line");
    if (row && !String(getSelection())) this.chooseLine(Number(row.dataset.line));
  }

  chooseMiddle() {
    const middle = Math.floor((this.pane.scrollTop + this.pane.clientHeight / 3) / LINE);
    for (let away = 0; away < 40; away++) {
      for (const line of [middle + away, middle - away]) if (this.text.boxOf.has(line)) return this.chooseLine(line);
    }
  }

  chooseLine(line) {
    const boxes = this.text.boxOf.get(line);
    if (boxes) this.onChoose(boxes[boxes.length - 1]);
  }
}

function indexed(text) {
  const linesOf = new Map(), boxOf = new Map();
  for (let at = 0; at < text.lines.length; at += 2) {
    const [box, line] = [text.lines[at], text.lines[at + 1]];
    if (!linesOf.has(box)) linesOf.set(box, []);
    linesOf.get(box).push(line);
    if (!boxOf.has(line)) boxOf.set(line, []);
    boxOf.get(line).push(box);
  }
  return { key: text.key, title: text.title, lines: text.text.split("\n"), linesOf, boxOf };
}
