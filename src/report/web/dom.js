// Builds the page's elements. Every text becomes a text node, so that texts of a journal (names of
// devices, reasons, variables) are never parsed as markup.

/**
 * Makes an element. Attributes are given by name (`class`, `aria-*`, ...), listeners in `on`.
 * Attributes and children that are null or false are left out.
 * @param {string} tag
 * @param {Object<string, any>} [attributes]
 * @param {...(Node|string|number|null|false|Array)} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'on') {
      for (const [event, listener] of Object.entries(value))
        element.addEventListener(event, listener);
    } else {
      element.setAttribute(name, value === true ? '' : value);
    }
  }
  append(element, children);
  return element;
}

/** Appends nodes, texts and lists of both. */
export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
}

const SVG = 'http://www.w3.org/2000/svg';

/** Makes an SVG element with attributes. */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  append(element, children);
  return element;
}
