// Builds the page's elements. Every text becomes a text node, so that texts of a journal (names of
// devices, reasons, variables) are never parsed as markup.

/**
 * Makes an element. Attributes and children that are null or false are left out.
 * @param {string} tag with its classes: "p.headline.bad"
 * @param {Object<string, any>} [attributes] by name (`aria-*`, ...), listeners in `on`
 * @param {...(Node|string|number|null|false|Array)} children
 * @returns {HTMLElement}
 */
export function h(tag, ...children) {
  const [name, ...classes] = tag.split('.');
  const attributes = children[0]?.constructor === Object ? children.shift() : {};
  const own = { class: classes.join(' ') || null, ...attributes };
  return filled(document.createElement(name), own, children);
}

function filled(element, { on = {}, ...attributes }, children) {
  for (const [event, listener] of Object.entries(on)) element.addEventListener(event, listener);
  for (const [name, value] of Object.entries(attributes)) {
    if ((value ?? false) !== false) element.setAttribute(name, value === true ? '' : value);
  }
  append(element, children);
  return element;
}

/** A button that calls `click`. */
export const button = (name, click, attributes = {}) =>
  h('button', { type: 'button', ...attributes, on: { click } }, name);

/** A list with an item for each text or list of children. @param {string} tag "ul.findings" */
export const list = (tag, items) =>
  h(
    tag,
    items.map((item) => h('li', item)),
  );

/** Content that is folded below a line. @param {string} [classes] ".remark" */
export const folded = (line, content, classes = '') =>
  h(`details${classes}`, h('summary', line), content);

/** Appends nodes, texts and lists of both. */
export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
}

/** Makes an SVG element with attributes. */
export const svg = (tag, attributes = {}, ...children) =>
  filled(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
