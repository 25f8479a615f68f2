// The common part of the pages. Names come from files, so they are only
// inserted into a page as text.
'use strict';

const report = JSON.parse(document.getElementById('report').textContent);

const byId = (id) => document.getElementById(id);

function element(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

function drawing(tag, attributes = {}, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function shorten(value, unit) {
  const units = ['', 'k', 'M', 'G', 'T'];
  let at = 0;
  for (; value >= 1000 && at + 1 < units.length; ++at) value /= 1000;
  return `${at ? value.toFixed(1) : value} ${units[at]}${unit}`;
}

const count = (number, noun) => `${number} ${noun}${number === 1 ? '' : 's'}`;
const percent = (part, whole) => `${(whole ? 100 * part / whole : 0).toFixed(1)} %`;

function header(...titles) {
  return element('tr', {}, ...titles.map(([title, number]) => element('th', {className: number ? 'number' : ''}, title)));
}
