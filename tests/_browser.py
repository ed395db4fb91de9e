"""Measurements that tests make inside of a browser."""

# The texts with too little contrast: their colour against the colours behind them, blended.
CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = (css) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = css;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => {
    const mixed = [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3]));
    return [...mixed, 1];
  };
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
      layers.push(rgba(getComputedStyle(e).backgroundColor));
      if (layers.at(-1)[3] > 0.99) break;
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const light = (color) => {
    const [r, g, b] = color.slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const bad = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode()); ) {
    const element = node.parentElement;
    if (!node.textContent.trim() || !element.checkVisibility({opacityProperty: true,
        visibilityProperty: true}) || element.closest("svg, script, style, [aria-hidden=true]")) {
      continue;
    }
    const style = getComputedStyle(element);
    const below = behind(element);
    const [a, b] = [light(over(rgba(style.color), below)), light(below)].sort((a, b) => b - a);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && parseInt(style.fontWeight) >= 700);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < (large ? 3 : 4.5)) {
      const path = `${element.tagName.toLowerCase()}.${element.className}`;
      bad.set(`${path} ${ratio.toFixed(2)}`, node.textContent.trim().slice(0, 40));
    }
  }
  return [...bad].slice(0, 8).map(([path, text]) => `${path}: ${text}`);
}"""
