// One side of the page: boxes, what they are connected with, and the groups that fold.
//
// A code names a box (its number) or a group (~ its number).

export const BOX = 0, GROUP = 1, INTO = 2, OUT = 3, BEND = 4;

// So many boxes and groups are shown at first, at most; and at all.
const SHOWN_FIRST = 260;
const SHOWN_MOST = 12000;

export class Model {
  constructor(side) {
    Object.assign(this, side);
    this.count = side.names.length;
    this.parents = Array.from({ length: this.count }, () => []);
    this.children = Array.from({ length: this.count }, () => []);
    for (let at = 0; at < side.edges.length; at += 2) {
      const [source, target] = [side.edges[at], side.edges[at + 1]];
      if (!this.parents[target].includes(source)) {
        this.parents[target].push(source);
        this.children[source].push(target);
      }
    }
    this.folds = side.groupings.map((grouping) => new Folds(grouping, this.count));
    const scopes = this.folds.find((one) => one.key === "scope" || one.key === "span");
    this.fold = this.count > SHOWN_FIRST && scopes ? scopes : this.folds[0];
  }

  opOf(box) { return this.ops[this.op[box]]; }
  typeOf(box) { return this.types[this.type[box]]; }
  // What a box is called: as its layer where its weights tell, else as the graph calls it.
  labelOf(box) { return this.layers[box] || this.names[box]; }

  // The type of a field of a tuple, ".1"; of the whole where no field is named.
  fieldType(box, field) {
    const parts = this.typeOf(box).split(/(?<=\]), /);
    return field ? parts[Number(field.slice(1))] || parts[0] : parts.length > 1 ? `(${parts.length} tensors)` : parts[0];
  }

  field(source, target) {
    for (let at = 0; at < this.edges.length && this.count < 20000; at += 2) {
      if (this.edges[at] === source && this.edges[at + 1] === target) return this.fields[at / 2] || "";
    }
    return "";
  }

  titleOf(code) {
    if (code >= 0) return this.opOf(code);
    const group = this.fold.groups[~code];
    return group.title || this.title;
  }
}

export class Folds {
  constructor(grouping, count) {
    this.key = grouping.key;
    this.title = grouping.title;
    this.groups = grouping.groups;
    this.home = new Int32Array(count);
    this.sizes = new Int32Array(this.groups.length);
    this.groups.forEach((group, number) => {
      group.codes = [];
      group.at = new Map(); // where an item stands in the list of items
      for (let at = 0; at < group.items.length; at += 2) {
        const [kind, ref] = [group.items[at], group.items[at + 1]];
        if (kind !== BEND) group.at.set(kind + ":" + ref, at / 2);
        if (kind === BOX) {
          this.home[ref] = number;
          group.codes.push(ref);
        } else if (kind === GROUP) group.codes.push(~ref);
      }
    });
    for (let number = this.groups.length - 1; number >= 0; number--) this.sizes[number] = this.countIn(number);
    this.open = new Set([0]);
    this.openFirst();
  }

  countIn(number) {
    let total = 0;
    for (const box of this.boxesIn(~number)) total += box >= 0 ? 1 : 0;
    return total;
  }

  // The boxes in a group, or the box itself.
  *boxesIn(code) {
    const stack = [code];
    while (stack.length) {
      const one = stack.pop();
      if (one >= 0) yield one;
      else for (let at = this.groups[~one].codes.length - 1; at >= 0; at--) stack.push(this.groups[~one].codes[at]);
    }
  }

  // Open the groups of a depth as long as that does not show too much.
  openFirst() {
    let layer = [0], shown = this.groups[0].codes.length;
    for (;;) {
      const below = layer.flatMap((number) => this.groups[number].codes.filter((code) => code < 0).map((code) => ~code));
      shown += below.reduce((sum, number) => sum + this.groups[number].codes.length, 0);
      if (!below.length || shown > SHOWN_FIRST) return;
      below.forEach((number) => this.open.add(number));
      layer = below;
    }
  }

  openAll() {
    let shown = 0;
    for (let number = 0; number < this.groups.length; number++) {
      shown += this.groups[number].codes.length;
      if (shown > SHOWN_MOST) return false;
      if (number === 0 || this.open.has(this.groups[number].parent)) this.open.add(number);
    }
    return true;
  }

  closeAll() { this.open = new Set([0]); }

  toggle(number) {
    if (number === 0) return;
    if (this.open.has(number)) this.open.delete(number);
    else this.open.add(number);
  }

  // Open all groups around a box or group; return whether that changes anything.
  reveal(code) {
    let changed = false;
    for (let number = code >= 0 ? this.home[code] : this.groups[~code].parent; number >= 0; number = this.groups[number].parent) {
      if (!this.open.has(number)) { this.open.add(number); changed = true; }
    }
    return changed;
  }

  // What is seen of a box: itself, or the outermost folded group around it.
  shownFor(code) {
    let seen = code;
    for (let number = code >= 0 ? this.home[code] : this.groups[~code].parent; number >= 0; number = this.groups[number].parent) {
      if (!this.open.has(number)) seen = ~number;
    }
    return seen;
  }

  contains(group, box) {
    for (let number = this.home[box]; number >= 0; number = this.groups[number].parent) if (number === group) return true;
    return false;
  }
}
