// The picture as SVG: for a file, and for paper.

import { SvgPainter, paintScene } from "./paint.js";

export function svgOf(view, colours) {
  const painter = new SvgPainter(), { scene } = view;
  const look = { ...view.look(), scale: 1, colours };
  paintScene(painter, scene, view.model, look, [0, 0, scene.width, scene.height]);
  return painter.toString(scene.width, scene.height, colours.ground);
}

export function download(text, type, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// For paper the picture stands in the page as an image, whose text stays sharp.
export function beforePrint(views, colours) {
  for (const view of views) {
    const image = new Image();
    image.className = "printed";
    image.alt = `graph of ${view.model.title}`;
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svgOf(view, colours));
    view.holder.append(image);
  }
}

export function afterPrint() {
  for (const image of document.querySelectorAll(".printed")) image.remove();
}
