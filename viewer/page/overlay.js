// Colours of boxes: of their kind, or of what an overlay says of them. Numbers are written as well.

import { amount } from "./data.js";

const WORDS_LIGHT = ["#cfe2f3", "#f8cbad", "#d5e8d4", "#fff2cc", "#dcd0ef", "#f4cccc", "#e4e4e4", "#c9ece8"];
const WORDS_DARK = ["#2a4a66", "#7a4524", "#305a36", "#66551c", "#4d3a70", "#703238", "#4a4a4a", "#1d5c55"];
const KINDS_LIGHT = ["#cfe2f3", "#d5e8d4", "#fff2cc", "#dcd0ef", "#e4e4e4"];
const KINDS_DARK = ["#25435c", "#2d5233", "#5c4d1a", "#46356a", "#454545"];
export const KIND_NAMES = ["operator", "input", "constant", "control flow or call", "tuple"];
// From little to much, and from light to dark or the other way.
const LOW_LIGHT = [240, 244, 250], HIGH_LIGHT = [160, 30, 30], LOW_DARK = [38, 48, 64], HIGH_DARK = [255, 176, 84];

export class Colouring {
  constructor(model, overlay, dark) {
    Object.assign(this, { model, overlay, dark });
    this.known = new Map();
    if (overlay && !isWords(overlay)) {
      const numbers = overlay.values.filter((one) => typeof one === "number");
      this.low = numbers.reduce((a, b) => Math.min(a, b), Infinity);
      this.high = numbers.reduce((a, b) => Math.max(a, b), -Infinity);
      if (overlay.logarithmic) this.low = numbers.filter((one) => one > 0).reduce((a, b) => Math.min(a, b), this.high);
    } else if (overlay) {
      this.words = [...new Set(overlay.values.filter((one) => one !== null))];
    }
  }

  // What an overlay says of a box, or of all boxes in a group together.
  valueOf(code) {
    if (!this.overlay) return null;
    if (code >= 0) return this.overlay.values[code];
    if (!this.known.has(code)) this.known.set(code, this.together(code));
    return this.known.get(code);
  }

  together(code) {
    const found = [];
    for (const box of this.model.fold.boxesIn(code)) if (this.overlay.values[box] !== null) found.push(this.overlay.values[box]);
    if (!found.length) return null;
    if (this.words) {
      const each = [...new Set(found)];
      return each.length === 1 ? each[0] : `${each.length} kinds`;
    }
    const numbers = found.map((one) => (typeof one === "number" ? one : Infinity));
    return this.overlay.summed ? numbers.reduce((a, b) => a + b, 0) : numbers.reduce((a, b) => Math.max(a, b), -Infinity);
  }

  fill(code) {
    const ink = this.dark ? "#f2f2f2" : "#1a1a1a";
    const value = this.valueOf(code);
    if (!this.overlay) {
      const kinds = this.dark ? KINDS_DARK : KINDS_LIGHT;
      return { fill: code < 0 ? (this.dark ? "#2f3a48" : "#e9eef5") : kinds[this.model.kind[code]], ink, value: null };
    }
    const none = { fill: this.dark ? "#262626" : "#fafafa", ink, value: null };
    if (value === null) return none;
    if (this.words) {
      const at = this.words.indexOf(value);
      return { fill: at < 0 ? none.fill : (this.dark ? WORDS_DARK : WORDS_LIGHT)[at % WORDS_LIGHT.length], ink, value };
    }
    const text = amount(value, this.overlay.unit);
    const share = this.share(value);
    const [low, high] = this.dark ? [LOW_DARK, HIGH_DARK] : [LOW_LIGHT, HIGH_LIGHT];
    const mixed = low.map((one, at) => Math.round(one + (high[at] - one) * share));
    const light = 0.299 * mixed[0] + 0.587 * mixed[1] + 0.114 * mixed[2];
    return { fill: `rgb(${mixed})`, ink: light > 140 ? "#111" : "#fff", value: text };
  }

  share(value) {
    if (typeof value !== "number" || !isFinite(value)) return 1;
    if (!(this.high > this.low)) return value > 0 ? 1 : 0;
    const share = this.overlay.logarithmic
      ? value > 0 ? Math.log(value / this.low) / Math.log(this.high / this.low) : 0
      : (value - this.low) / (this.high - this.low);
    return Math.min(1, Math.max(0, share));
  }

  // Samples for the legend: [colour, text].
  legend() {
    if (!this.overlay) {
      const kinds = this.dark ? KINDS_DARK : KINDS_LIGHT, there = new Set(this.model.kind);
      return KIND_NAMES.map((name, at) => [kinds[at], name, at]).filter(([, , at]) => there.has(at));
    }
    if (this.words) return this.words.slice(0, 12).map((word, at) => [(this.dark ? WORDS_DARK : WORDS_LIGHT)[at % WORDS_LIGHT.length], word]);
    if (!isFinite(this.low)) return [];
    const ends = this.high > this.low ? [this.low, this.high] : [this.high];
    return ends.map((value) => [this.colourOf(value), amount(value, this.overlay.unit)]);
  }

  colourOf(value) {
    const share = this.share(value), [low, high] = this.dark ? [LOW_DARK, HIGH_DARK] : [LOW_LIGHT, HIGH_LIGHT];
    return `rgb(${low.map((one, at) => Math.round(one + (high[at] - one) * share))})`;
  }
}

export function isWords(overlay) {
  return overlay.values.some((one) => typeof one === "string") && !overlay.unit;
}
