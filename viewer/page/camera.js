// Which part of a scene a view shows, and how large.

export class Camera {
  constructor() { Object.assign(this, { x: 0, y: 0, scale: 1, width: 1, height: 1 }); }

  toScene(x, y) { return [x / this.scale + this.x, y / this.scale + this.y]; }

  get area() { return [this.x, this.y, this.x + this.width / this.scale, this.y + this.height / this.scale]; }

  pan(dx, dy) {
    this.x -= dx / this.scale;
    this.y -= dy / this.scale;
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const [atX, atY] = this.toScene(x, y);
    this.scale = Math.min(4, Math.max(0.004, this.scale * factor));
    this.x = atX - x / this.scale;
    this.y = atY - y / this.scale;
  }

  fit(scene) {
    this.scale = Math.min(1.2, this.width / (scene.width + 20), this.height / (scene.height + 20));
    this.centre(scene.width / 2, scene.height / 2);
  }

  // Show all where names stay readable, else the beginning.
  begin(scene) {
    this.fit(scene);
    if (this.scale >= 0.5) return;
    this.scale = Math.min(1, Math.max(0.6, this.width / (scene.width + 20)));
    const first = scene.boxes.reduce((top, box) => (!box.open && (!top || box.y < top.y) ? box : top), null);
    const whole = scene.width * this.scale <= this.width || !first;
    this.centre(whole ? scene.width / 2 : first.x + first.w / 2, this.height / this.scale / 2 - 10);
  }

  centre(x, y) {
    this.x = x - this.width / this.scale / 2;
    this.y = y - this.height / this.scale / 2;
  }

  // Bring a box into view, and to a size at which it can be read.
  show(box) {
    if (this.scale < 0.5) this.scale = 0.9;
    const [left, top, right, bottom] = this.area, margin = 30 / this.scale;
    const high = box.open ? 60 : box.h;
    if (box.x > left + margin && box.x + box.w < right - margin && box.y > top + margin && box.y + high < bottom - margin) return;
    this.centre(box.x + box.w / 2, box.y + high / 2);
  }
}
