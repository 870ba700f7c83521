// Texts whose contrast with the first background below them is less than the least, as
// "text ratio". The browser's own background is nearly black for those who asked for dark.
least => {
  const numbers = colour => colour.match(/[\d.]+/g).map(Number);
  const linear = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const canvas = isDark ? [18, 18, 18] : [255, 255, 255];
  const behind = element => {
    for (; element; element = element.parentElement) {
      const colour = numbers(getComputedStyle(element).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return canvas;
  };
  const inkOf = element => {
    const style = getComputedStyle(element);
    return element.closest("svg") ? style.fill : style.color;
  };
  const faint = [];
  for (const element of document.body.querySelectorAll("*")) {
    const own = [...element.childNodes].filter(n => n.nodeType === 3 && n.textContent.trim());
    if (!own.length || element.closest("button, script, style, [hidden]")) continue;
    const [a, b] = [numbers(inkOf(element)), behind(element)].map(light);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < least) faint.push(own[0].textContent.trim() + " " + ratio.toFixed(2));
  }
  return faint;
}
