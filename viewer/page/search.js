// Search by name, operator, attribute, span, type or weight: words of which all have to be found.
// `op:conv2d` looks at operators alone; so do `name:`, `attr:`, `span:`, `type:`, `weight:`.

import { make } from "./data.js";

const SHOWN = 100;
const WORD = /^(op|name|attr|span|type|weight):(.*)$/;

export class Search {
  constructor(input, list, said, onChoose, onMatches) {
    Object.assign(this, { input, list, said, onChoose, onMatches });
    this.found = [];
    this.at = -1;
    input.addEventListener("input", () => this.run());
    input.addEventListener("focus", () => { if (this.found.length) this.list.hidden = false; });
    input.addEventListener("keydown", (event) => this.key(event));
    input.addEventListener("blur", () => setTimeout(() => { this.list.hidden = true; this.expand(false); }, 150));
  }

  of(model, details) {
    this.model = model;
    this.lower = null;
    this.details = details;
  }

  prepare() {
    const { model, details } = this, low = (text) => text.toLowerCase();
    this.lower = {
      name: model.names.map(low),
      op: model.op.map((op) => low(model.ops[op])),
      type: model.type.map((type) => low(model.types[type])),
      weight: model.names.map((_, box) => low([model.layers[box], ...(model.inside[box] || [])].join(" "))),
      attr: details.map((one) => low(Object.entries(one.attrs || {}).map(([key, value]) => `${key}=${value}`).join(" "))),
      span: details.map((one) => low([one.span || "", ...(one.scope || []), ...(one.alias || [])].join(" "))),
    };
  }

  run() {
    const words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!this.lower) this.prepare();
    this.found = words.length ? this.matching(words) : [];
    this.at = this.found.length ? 0 : -1;
    this.said.textContent = words.length ? `${this.found.length} found` : "";
    this.draw();
    this.onMatches(new Set(this.found));
  }

  matching(words) {
    const { lower } = this, exact = [], rest = [];
    for (let box = 0; box < this.model.count; box++) {
      const fits = words.every((word) => {
        const [, field, wanted] = WORD.exec(word) || [];
        if (field) return lower[field][box].includes(wanted);
        return lower.name[box].includes(word) || lower.op[box].includes(word) || lower.weight[box].includes(word)
          || lower.attr[box].includes(word) || lower.span[box].includes(word) || lower.type[box].includes(word);
      });
      if (fits) (words.length === 1 && lower.name[box] === words[0] ? exact : rest).push(box);
    }
    return [...exact, ...rest];
  }

  draw() {
    const { model } = this;
    this.list.replaceChildren(...this.found.slice(0, SHOWN).map((box, at) => {
      const item = make("li", { role: "option", id: `found-${at}`, "aria-selected": String(at === this.at) },
        make("b", { textContent: model.opOf(box) }), " ", model.labelOf(box), make("small", { textContent: " " + model.typeOf(box) }));
      item.addEventListener("mousedown", (event) => { event.preventDefault(); this.choose(at); });
      return item;
    }));
    if (this.found.length > SHOWN) this.list.append(make("li", { className: "more", textContent: `and ${this.found.length - SHOWN} more` }));
    this.list.hidden = !this.found.length;
    this.expand(this.found.length > 0);
    if (this.at >= 0) this.list.children[this.at]?.scrollIntoView({ block: "nearest" });
  }

  expand(open) {
    this.input.setAttribute("aria-expanded", String(open));
    if (open && this.at >= 0) this.input.setAttribute("aria-activedescendant", `found-${this.at}`);
    else this.input.removeAttribute("aria-activedescendant");
  }

  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && this.found.length) {
      const count = Math.min(SHOWN, this.found.length);
      this.at = (this.at + step + count) % count;
      this.draw();
      event.preventDefault();
    } else if (event.key === "Enter" && this.at >= 0) {
      this.choose(this.at);
      event.preventDefault();
    } else if (event.key === "Escape") {
      this.input.value = "";
      this.run();
      this.input.blur();
    }
  }

  // Choose a match; Enter again goes on to the next.
  choose(at) {
    this.onChoose(this.found[at]);
    this.at = (at + 1) % Math.min(SHOWN, this.found.length);
    this.list.hidden = true;
    this.expand(false);
  }
}
