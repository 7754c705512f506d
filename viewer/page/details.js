// What is known of the box or group that is selected; of the whole where none is.

import { amount, make, section, shortNumber } from "./data.js";

export class Details {
  constructor(holder, onChoose) {
    Object.assign(this, { holder, onChoose });
  }

  link(model, box) {
    const link = make("button", { type: "button", className: "link", textContent: `${model.opOf(box)} ${model.labelOf(box)}` });
    link.addEventListener("click", () => this.onChoose(box));
    return link;
  }

  whole(model, notes) {
    const parts = [make("h2", { textContent: model.title })];
    parts.push(make("p", { className: "dim", textContent: `${model.count} nodes, ${model.edges.length / 2} edges` }));
    for (const note of notes) parts.push(make("p", { textContent: note }));
    for (const finding of model.findings) {
      const links = finding.boxes.slice(0, 12).map((box) => make("li", {}, this.link(model, box)));
      if (finding.boxes.length > 12) links.push(make("li", { textContent: "…" }));
      parts.push(make("section", { className: "finding" }, make("h3", { textContent: finding.title }),
        make("p", { textContent: finding.text }), ...(links.length ? [make("ul", {}, ...links)] : [])));
    }
    this.holder.replaceChildren(...parts);
  }

  group(model, code) {
    const counts = new Map();
    for (const box of model.fold.boxesIn(code)) counts.set(model.opOf(box), (counts.get(model.opOf(box)) || 0) + 1);
    const rows = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 30).map(([op, count]) => row(op, String(count)));
    this.holder.replaceChildren(make("h2", { textContent: model.titleOf(code) }),
      make("p", { className: "dim", textContent: `group of ${model.fold.sizes[~code]} nodes; Enter or a double click folds and unfolds it` }),
      table("Operators", rows));
  }

  async box(model, number, box, overlays, relation) {
    const details = (await section("details"))[number][box];
    if (this.wanted !== undefined && this.wanted !== box) return;
    const parts = [make("h2", {}, model.opOf(box)), make("p", {}, make("code", { textContent: model.names[box] }), " gives ", make("code", { textContent: model.typeOf(box) }))];
    if (relation) parts.push(relation);
    const said = overlays.map((one) => [one.title, one.values[box], one.unit]).filter(([, value]) => value !== null);
    parts.push(table("Known of it", said.map(([title, value, unit]) => row(title, amount(value, unit)))));
    if (details.changes) parts.push(make("h3", { textContent: "From one graph to the other" }), make("ul", {}, ...details.changes.map((text) => make("li", { textContent: text }))));
    if (details.attrs) parts.push(table("Attributes", Object.entries(details.attrs).map(([key, value]) => row(key, value))));
    parts.push(this.list("Takes", model.parents[box], model), this.list("Taken by", model.children[box], model));
    if (details.lent) parts.push(make("h3", { textContent: "Weights and constants" }), ...details.lent.map((one) => this.weight(number, one)));
    if (details.span) parts.push(table("Span", [row("", details.span)]));
    if (details.scope) parts.push(table("Scope", [row("", details.scope.join(" / "))]));
    if (details.receipt) parts.push(make("h3", { textContent: "Receipt" }), make("ul", {}, ...details.receipt.map((text) => make("li", { textContent: text }))));
    this.holder.replaceChildren(...parts.filter(Boolean));
  }

  list(title, boxes, model) {
    if (!boxes.length) return null;
    const links = boxes.slice(0, 40).map((box) => make("li", {}, this.link(model, box), make("small", { textContent: " " + model.typeOf(box) })));
    if (boxes.length > 40) links.push(make("li", { textContent: `and ${boxes.length - 40} more` }));
    return make("section", {}, make("h3", { textContent: title }), make("ul", {}, ...links));
  }

  // A weight: what it is, and on demand how its values are distributed.
  weight(number, [role, name, type, value]) {
    const summary = make("summary", {}, make("b", { textContent: role }), ` ${name} `, make("small", { textContent: value ? `${type} = ${value}` : type }));
    const shown = make("details", { className: "weight" }, summary);
    shown.addEventListener("toggle", async () => {
      if (!shown.open || shown.childElementCount > 1) return;
      const found = (await section("weights"))[number][name];
      shown.append(found ? histogram(found) : make("p", { className: "dim", textContent: "Its values are not in this page: give them with --params." }));
    });
    return shown;
  }
}

function row(name, value) {
  return make("tr", {}, ...(name ? [make("th", { scope: "row", textContent: name })] : []), make("td", { textContent: value }));
}

function table(title, rows) {
  return rows.length ? make("section", {}, make("h3", { textContent: title }), make("table", {}, make("tbody", {}, ...rows))) : null;
}

function histogram(found) {
  const parts = [];
  if (found.bins) {
    const most = Math.max(...found.bins), space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg");
    svg.setAttribute("viewBox", `0 0 ${found.bins.length * 10} 60`);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `histogram from ${shortNumber(found.low)} to ${shortNumber(found.high)}`);
    found.bins.forEach((count, at) => {
      const bar = document.createElementNS(space, "rect"), high = (58 * count) / most;
      for (const [key, value] of Object.entries({ x: at * 10, y: 60 - high, width: 9, height: high })) bar.setAttribute(key, value);
      svg.append(bar);
    });
    parts.push(svg, make("p", { className: "ends" }, make("span", { textContent: shortNumber(found.low) }), make("span", { textContent: shortNumber(found.high) })),
      make("p", { textContent: `mean ${shortNumber(found.mean)}, deviation ${shortNumber(found.deviation)}, ${found.count} values` }));
  }
  if (found.nonfinite) parts.push(make("p", { className: "bad", textContent: `${found.nonfinite} values of those looked at are NaN or infinite` }));
  parts.push(make("p", { className: "dim" }, make("code", { textContent: found.values.join("  ") + (found.count > found.values.length ? " …" : "") })));
  return make("div", {}, ...parts);
}
