// The page of mpc report --html.

const PAGE = 200; // Rows of ops that are shown at once.
let current, module = [], shown = PAGE;

const partsOf = (path) => path.split('.').filter((part) => part);

//===--- Shares, reasons, memory ---===//

function showShares() {
  const figures = [['computes', 'flops', 'FLOP'], ['moves', 'bytes', 'B']].map(([title, key, unit]) => {
    const whole = current.cost[key], low = current.cost[key + '_16bit'];
    const bar = element('div', {className: 'bar'}, element('b'), element('s'));
    bar.firstChild.style.width = percent(low, whole).replace(' ', '');
    bar.lastChild.style.width = percent(whole - low, whole).replace(' ', '');
    return element('figure', {}, `${title} ${shorten(whole, unit)}`, bar,
      `${percent(low, whole)} in ${report.low}, ${percent(whole - low, whole)} in ${report.wide}`);
  });
  const cost = current.cost;
  figures.push(element('figure', {}, count(cost.casts, 'cast'), element('br'), `${shorten(cost.cast_bytes, 'B')} read and written`,
    element('br'), `${current.weight_casts} of weights`));
  for (const device of report.devices)
    figures.push(element('figure', {}, `memory on ${device.device}`, element('br'), `${shorten(device.state_bytes, 'B')} of states`,
      element('br'), `${shorten(device.arena_bytes, 'B')} of arena`));
  for (const device of report.devices) for (const entry of device.entries) {
    if (entry.name !== current.name || !entry.time) continue;
    const parts = [['b', '16bit'], ['s', 'f32'], ['u', '8bit']].map(([tag, key]) => [element(tag), entry.time[key]]);
    const whole = parts.reduce((sum, [, time]) => sum + time, 0);
    const names = [entry.time.multiplies_16bit ? report.low_alone : `${report.low_alone} (multiplied as ${report.wide})`, report.wide,
      entry.time.multiplies_8bit ? 'fp8' : `fp8 (multiplied as ${report.low_alone})`];
    for (const [part, time] of parts) part.style.width = percent(time, whole).replace(' ', '');
    figures.push(element('figure', {}, `time on ${device.device}`, element('div', {className: 'bar'}, ...parts.map(([part]) => part)),
      parts.map(([, time], i) => i < 2 || time ? `${percent(time, whole)} in ${names[i]}` : '').filter((text) => text).join(', '),
      element('br'), `estimated from the rates of ${entry.time.machine}`));
  }
  byId('shares').replaceChildren(...figures);
}

function showReasons() {
  const rows = current.wide.map((group) => element('tr', {className: 'link', onclick: () => {
    byId('rule').value = group.rule_id;
    byId('format').value = 'wide';
    search();
    byId('filter').scrollIntoView();
  }}, element('td', {className: 'number'}, String(group.ops)),
  element('td', {className: 'number'}, percent(group.bytes, current.cost.bytes)),
  element('td', {className: 'name'}, group.rule_id), element('td', {}, group.reason),
  element('td', {className: 'name'}, group.examples.join(', '))));
  byId('reasons').replaceChildren(header(['ops', 1], ['bytes', 1], ['rule'], ['reason'], ['largest']), ...rows);
}

function showMemory() {
  const WIDTH = 900, HEIGHT = 120;
  const charts = report.devices.flatMap((device) => device.entries
    .filter((entry) => entry.name === current.name && entry.live_bytes.length > 0).map((entry) => {
      const most = entry.live_bytes.reduce((a, b) => Math.max(a, b), 1);
      const point = (value, i) => `${(WIDTH * i / entry.live_bytes.length).toFixed(1)},${(HEIGHT - (HEIGHT - 4) * value / most).toFixed(1)}`;
      const line = entry.live_bytes.map((value, i) => `L${point(value, i)} L${point(value, i + 1)}`).join(' ');
      const label = element('figcaption', {}, `${device.device}: at most ${shorten(most, 'B')} in use, of ${shorten(device.arena_bytes, 'B')}`);
      const svg = drawing('svg', {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT},
        drawing('path', {class: 'area', d: `M0,${HEIGHT} ${line} L${WIDTH},${HEIGHT} Z`}));
      svg.addEventListener('mousemove', (event) => {
        const box = svg.getBoundingClientRect();
        const at = Math.min(entry.live_bytes.length - 1, Math.floor(entry.live_bytes.length * (event.clientX - box.left) / box.width));
        label.textContent = `${device.device}: ${shorten(entry.live_bytes[at], 'B')} in use at instruction ${at * entry.live_stride}`;
      });
      return element('figure', {}, svg, label);
    }));
  byId('memory').replaceChildren(...(charts.length ? charts : ['No data.']));
}

function showCost() {
  const tables = report.devices.flatMap((device) => device.entries
    .filter((entry) => entry.name === current.name && entry.cost).map(({cost}) => {
      const rows = cost.rows.map((row) => element('tr', {},
        element('td', {className: 'number'}, percent(row.share, 1)), element('td', {className: 'number'}, row.time),
        element('td', {className: 'number'}, String(row.launches)), element('td', {}, row.limit),
        element('td', {className: 'name'}, row.dtype ? `${row.kernel} (${row.dtype})` : row.kernel),
        element('td', {className: 'name'}, row.node)));
      const caption = element('figcaption', {}, `${device.device}: ${cost.time} in ${cost.launches} launches, at least ${cost.bound} ` +
        `(estimated from the rates of ${cost.machine})`);
      return element('figure', {}, caption, element('table', {},
        header(['share', 1], ['time', 1], ['launches', 1], ['limit'], ['kernel'], ['node']), ...rows));
    }));
  byId('costs').hidden = tables.length === 0;
  byId('cost').replaceChildren(...tables);
}

/// Bytes kept for the backward pass, over the ops of the function before and
/// after recomputation. Forward ops are the same in both.
function showKept() {
  const again = report.recompute.find((candidate) => candidate.function === current.name);
  byId('recompute').hidden = !again;
  if (!again) return;
  const WIDTH = 900, HEIGHT = 140;
  const courses = [again.before, again.after];
  const ops = courses.reduce((most, course) => Math.max(most, course.ops), 1);
  const peakOf = (course) => course.bytes.reduce((a, b) => Math.max(a, b), 0);
  const most = Math.max(1, ...courses.map(peakOf));
  const high = (bytes) => (HEIGHT - (HEIGHT - 4) * bytes / most).toFixed(1);
  const svg = drawing('svg', {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT}, ...courses.map((course, i) => {
    const x = (at) => (WIDTH * Math.min(ops, at * course.stride) / ops).toFixed(1);
    const line = course.bytes.map((bytes, at) => `L${x(at)},${high(bytes)} L${x(at + 1)},${high(bytes)}`).join(' ');
    return drawing('path', {class: i ? 'area' : 'area before', d: `M0,${HEIGHT} ${line} L${x(course.bytes.length)},${HEIGHT} Z`});
  }));
  const begin = (WIDTH * Math.min(ops, again.forward_ops) / ops).toFixed(1);
  svg.append(drawing('path', {class: 'limit', d: `M${begin},0 V${HEIGHT}`}), drawing('text', {x: Number(begin) + 4, y: 12}, 'backward'));
  const peaks = courses.map((course) => shorten(peakOf(course), 'B'));
  const label = element('figcaption');
  const rest = () => {
    label.textContent = `blue: at most ${peaks[1]} with ${count(again.ops, 'op')} recomputed; orange: at most ${peaks[0]} without recomputation. Counted before ops are fused.`;
  };
  svg.addEventListener('mousemove', (event) => {
    const box = svg.getBoundingClientRect(), at = Math.max(0, Math.floor(ops * (event.clientX - box.left) / box.width));
    const [before, after] = courses.map((course) => {
      const bytes = course.bytes[Math.floor(at / course.stride)];
      return bytes === undefined ? 'has ended' : shorten(bytes, 'B');
    });
    label.textContent = `op ${at}: ${after}, without recomputation ${before}`;
  });
  svg.addEventListener('mouseleave', rest);
  rest();
  byId('kept').replaceChildren(element('figure', {}, svg, label));
}

//===--- Formats and filters ---===//

const isLow = (type) => type.endsWith('16');

function formatOf(op) {
  const types = [op.operand_dtype, op.dtype].filter((type) => type);
  if (types.every(isLow)) return 'low';
  return types.some(isLow) ? 'mixed' : 'wide';
}

const formatName = (op) => !op.dtype || op.dtype === op.operand_dtype || !op.operand_dtype
  ? op.dtype || op.operand_dtype : `${op.operand_dtype} → ${op.dtype}`;

function matches(op, text, format, rule, range) {
  if (rule && op.rule_id !== rule) return false;
  if (range && !hasRange(op, range)) return false;
  if (format === 'casts' ? op.casts_in + op.casts_out === 0 : format && formatOf(op) !== format) return false;
  return !text || [op.node, op.op, op.type, op.module, op.reason].some((field) => field.toLowerCase().includes(text));
}

//===--- Ops: forward and backward ops of a node side by side ---===//

function cellsOf(op) {
  const ranges = (cell) => report.profile ? [cell] : [];
  if (!op) return [element('td'), ...ranges(element('td')), element('td'), element('td')];
  const open = () => showDetails(op);
  return [element('td', {className: formatOf(op), onclick: open}, formatName(op)),
    ...ranges(element('td', {onclick: open}, sparkline(op))),
    element('td', {className: 'number', onclick: open}, shorten(op.bytes, 'B')),
    element('td', {onclick: open, title: op.rule_id}, `${op.rule}: ${op.reason}`)];
}

/// Rows of one node: its forward ops beside those of its gradient.
function rowsOf(node, ops) {
  const forward = ops.filter((op) => op.phase === 'forward'), backward = ops.filter((op) => op.phase !== 'forward');
  const rows = [];
  for (let i = 0; i < Math.max(forward.length, backward.length); ++i)
    rows.push(element('tr', {className: 'link'}, element('td', {className: 'name'}, i ? '' : node),
      element('td', {}, (forward[i] || backward[i]).type || (forward[i] || backward[i]).op),
      ...cellsOf(forward[i]), ...cellsOf(backward[i])));
  return rows;
}

function showOps() {
  const text = byId('search').value.trim().toLowerCase();
  const nodes = new Map();
  let found = 0;
  for (const op of current.ops) {
    if (!matches(op, text, byId('format').value, byId('rule').value, byId('range').value)) continue;
    ++found;
    const name = op.node.endsWith('.grad') ? op.node.slice(0, -5) : op.node;
    if (!nodes.has(name)) nodes.set(name, []);
    nodes.get(name).push(op);
  }
  const rows = [...nodes].slice(0, shown).flatMap(([node, ops]) => rowsOf(node, ops));
  byId('found').textContent = `${found} of ${current.ops.length} ops, ${nodes.size} nodes`;
  byId('more').hidden = nodes.size <= shown;
  const side = (title) => [[title], ...(report.profile ? [['range']] : []), ['bytes', 1], ['rule, reason']];
  byId('ops').replaceChildren(header(['node'], ['type'], ...side('forward'), ...side('backward, update')), ...rows);
}

function search() {
  shown = PAGE;
  showOps();
}

function showDetails(op) {
  const list = element('dl');
  const add = (name, value) => value !== '' && list.append(element('dt', {}, name), element('dd', {}, String(value)));
  add('node', op.node);
  add('op', `${op.op}${op.type ? ` (${op.type})` : ''}`);
  add('module', op.module);
  add('phase', op.phase);
  add('format', formatName(op));
  add('sums', op.accumulate_dtype);
  add('class', op.class);
  add('rule', op.rule_id);
  add('reason', op.reason);
  add('computes', shorten(op.flops, 'FLOP'));
  add('moves', shorten(op.bytes, 'B'));
  for (const input of op.inputs) {
    const source = input.op >= 0 ? current.ops[input.op].node || current.ops[input.op].op : input.state || (input.input ? 'an input' : 'a constant');
    add('reads', `${input.dtype}, ${shorten(input.bytes, 'B')}: ${source}${input.cast >= 0 ? ', cast' : ''}${input.pinned ? ', pinned' : ''}`);
  }
  const line = current.ops.indexOf(op);
  for (const reader of current.ops)
    if (reader.inputs.some((input) => input.op === line)) add('read by', reader.node || reader.op);
  byId('details').replaceChildren(element('button', {type: 'button', onclick: () => { byId('details').hidden = true; }}, 'Close'), list, ...rangeDetails(op));
  byId('details').hidden = false;
}

//===--- Graph: the contents of a module, forward left, backward right ---===//

/// The children of the open module, in the order in which they are entered:
/// modules, and ops of its own.
function findRows() {
  const rows = new Map(), placeOf = [];
  current.ops.forEach((op, i) => {
    const path = op.module ? partsOf(op.module) : [];
    if (!module.every((part, depth) => path[depth] === part)) return;
    const inside = path.length > module.length;
    const key = inside ? `module ${path[module.length]}` : `node ${op.node.endsWith('.grad') ? op.node.slice(0, -5) : op.node || op.op}`;
    if (!rows.has(key)) rows.set(key, {label: key.slice(key.indexOf(' ') + 1), inside, sides: [[], []]});
    rows.get(key).sides[op.phase === 'forward' ? 0 : 1].push(op);
    placeOf[i] = [rows.get(key), op.phase === 'forward' ? 0 : 1];
  });
  const list = [...rows.values()];
  list.forEach((row, index) => { row.index = index; });
  return [list, placeOf];
}

/// Pairs of places with data flow between them, once each.
function findEdges(placeOf) {
  const edges = new Map();
  current.ops.forEach((op, i) => {
    if (!placeOf[i]) return;
    for (const input of op.inputs) {
      const from = input.op >= 0 && placeOf[input.op];
      if (!from || (from[0] === placeOf[i][0] && from[1] === placeOf[i][1])) continue;
      const key = `${from[0].index} ${from[1]} ${placeOf[i][0].index} ${placeOf[i][1]}`;
      const edge = edges.get(key) || {from, to: placeOf[i], cast: false};
      edge.cast = edge.cast || input.cast >= 0;
      edges.set(key, edge);
    }
  });
  return [...edges.values()];
}

const MOST = 2000; // Rows that a browser draws without a noticeable delay.
const ROW = 34, BOX = 26, WIDTH = 380, LEFT = 120, GAP = 90;
const boxLeft = (side) => LEFT + side * (WIDTH + GAP);

function edgePath({from, to, cast}) {
  const y = (place) => place[0].index * ROW + ROW / 2 + 20;
  const [a, b] = [y(from), y(to)];
  if (from[1] !== to[1]) {
    const [x, u] = [boxLeft(0) + WIDTH, boxLeft(1)];
    return drawing('path', {class: cast ? 'cast' : 'saved', d: from[1] === 0 ? `M${x},${a} L${u},${b}` : `M${u},${a} L${x},${b}`});
  }
  const steps = Math.abs(from[0].index - to[0].index), side = from[1];
  const edgeX = side === 0 ? boxLeft(0) : boxLeft(1) + WIDTH;
  const bend = edgeX + (side === 0 ? -1 : 1) * Math.min(100, 8 + 9 * Math.sqrt(steps) * 2);
  if (steps === 1) {
    const middle = boxLeft(side) + WIDTH / 2, down = Math.sign(b - a) * BOX / 2;
    return drawing('path', {class: cast ? 'cast' : '', d: `M${middle},${a + down} L${middle},${b - down}`});
  }
  return drawing('path', {class: cast ? 'cast' : '', d: `M${edgeX},${a} C${bend},${a} ${bend},${b} ${edgeX},${b}`});
}

function boxOf(row, side) {
  const ops = row.sides[side];
  const sum = (key) => ops.reduce((total, op) => total + op[key], 0);
  const bytes = sum('bytes'), share = bytes ? sum('bytes_16bit') / bytes : ops.every((op) => formatOf(op) === 'low') ? 1 : 0;
  const x = boxLeft(side), y = row.index * ROW + (ROW - BOX) / 2 + 20;
  const label = row.label.length > 34 ? `${row.label.slice(0, 14)}…${row.label.slice(-18)}` : row.label;
  const box = drawing('g', {class: 'box'},
    drawing('rect', {x, y, width: WIDTH, height: BOX, rx: 3, fill: 'var(--wide)'}),
    drawing('rect', {x, y, width: WIDTH * share, height: BOX, rx: 3, fill: 'var(--low)'}),
    drawing('text', {x: x + 8, y: y + 17}, row.inside ? `▸ ${label}` : label),
    drawing('text', {x: x + WIDTH - 8, y: y + 17, 'text-anchor': 'end'},
      row.inside ? `${count(ops.length, 'op')}, ${shorten(bytes, 'B')}` : `${formatName(ops[0])}, ${shorten(bytes, 'B')}`),
    drawing('title', {}, `${row.label}: ${count(ops.length, 'op')}, ${shorten(bytes, 'B')}, ${percent(share, 1)} in 16 bit${row.inside ? '' : `\n${rangeText(ops[0])}`}`));
  box.addEventListener('click', () => {
    if (!row.inside) return showDetails(ops[0]);
    module = [...module, row.label];
    showGraph();
  });
  return box;
}

function showGraph() {
  const steps = [['all', []], ...module.map((part, i) => [part, module.slice(0, i + 1)])];
  byId('path').replaceChildren(...steps.flatMap(([name, target], i) => [i ? ' / ' : '',
    element('a', {onclick: () => { module = target; showGraph(); }}, name)]));
  const [all, placeOf] = findRows(), rows = all.slice(0, MOST);
  const width = boxLeft(1) + WIDTH + LEFT, height = rows.length * ROW + 30;
  const svg = drawing('svg', {width, height, viewBox: `0 0 ${width} ${height}`},
    drawing('text', {x: boxLeft(0), y: 14}, 'forward'), drawing('text', {x: boxLeft(1), y: 14}, 'backward, update'),
    ...findEdges(placeOf).filter(({from, to}) => Math.max(from[0].index, to[0].index) < MOST).map(edgePath));
  for (const row of rows) for (const side of [0, 1]) if (row.sides[side].length) svg.append(boxOf(row, side));
  byId('graph').replaceChildren(svg, all.length > MOST ? `and ${count(all.length - MOST, 'row')} more` : '');
}

//===--- The page ---===//

function showFunction(name) {
  current = report.functions.find((candidate) => candidate.name === name);
  const rules = [...new Set(current.ops.map((op) => op.rule_id))].sort();
  byId('rule').replaceChildren(element('option', {value: ''}, 'any rule'),
    ...rules.map((rule) => element('option', {value: rule}, rule || '(none)')));
  module = [];
  showShares();
  showReasons();
  showCost();
  showMemory();
  showKept();
  showGraph();
  search();
}

document.title = `${report.model}: mpc report`;
byId('model').textContent = `${report.model}: ${report.precision}`;
byId('low-name').textContent = report.low;
for (const node of [byId('wide-name'), ...document.querySelectorAll('.wide-name')]) node.textContent = report.wide;
byId('range').hidden = !report.profile;
byId('range').lastElementChild.before(...Object.keys(FORMATS).map((name) => element('option', {value: name}, `outside ${name}'s range`)));
byId('function').append(...report.functions.map((candidate) => element('option', {}, candidate.name)));
byId('function').addEventListener('change', () => showFunction(byId('function').value));
byId('filter').addEventListener('submit', (event) => event.preventDefault());
byId('filter').addEventListener('input', search);
byId('more').addEventListener('click', () => { shown += PAGE; showOps(); });
if (report.principal) {
  byId('function').value = report.principal;
  showFunction(report.principal);
}
