// The page of mpc compare --html. Numbers that are not finite are null.

const PAGE = 200; // Rows of ops that are shown at once.
const WIDTH = 620, HEIGHT = 240, LEFT = 76, BOTTOM = 22;
let shown = PAGE;

const share = (error) => error === null ? 'not finite'
  : error && error < 1e-5 ? `${(100 * error).toExponential(1)} %` : `${Number((100 * error).toPrecision(3))} %`;
const short = (number, digits = 3) => Number(number.toPrecision(digits)).toString();

//===--- Charts ---===//

/// A drawing with an axis of values. `place` maps a value to its position
/// between the lower and the upper end, `label` to its text.
function axes(marks, place, label) {
  const svg = drawing('svg', {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT});
  for (const mark of marks) {
    const y = heightOf(place(mark));
    svg.append(drawing('path', {d: `M${LEFT},${y} H${WIDTH}`}),
      drawing('text', {x: LEFT - 6, y: y + 4, 'text-anchor': 'end'}, label(mark)));
  }
  return svg;
}

const heightOf = (part) => (8 + (HEIGHT - BOTTOM - 8) * (1 - part)).toFixed(1) * 1;

/// Curves over steps, of the program and of the reference, without numbers that
/// are not finite. `name` formats a number.
function curves(title, lines, name) {
  const numbers = lines.flat().filter((number) => number !== null);
  if (!numbers.length) return element('figure', {}, element('figcaption', {}, `${title}: not finite`));
  const least = numbers.reduce((a, b) => Math.min(a, b), Infinity), most = numbers.reduce((a, b) => Math.max(a, b), -Infinity);
  const span = most - least || Math.abs(most) || 1, low = most > least ? least : most - span / 2;
  const place = (number) => (number - low) / span;
  const across = (i) => LEFT + (WIDTH - LEFT - 4) * (lines[0].length > 1 ? i / (lines[0].length - 1) : 0.5);
  const svg = axes([0, 0.25, 0.5, 0.75, 1].map((part) => low + part * span), place, name);
  lines.forEach((line, side) => {
    const points = line.map((number, i) => number === null ? null : `${across(i).toFixed(1)},${heightOf(place(number))}`).filter((point) => point);
    svg.append(drawing('polyline', {class: side ? 'theirs' : 'ours', points: points.join(' ')}));
    if (points.length === 1) svg.append(drawing('circle', {class: side ? 'theirs' : 'ours', cx: points[0].split(',')[0], cy: points[0].split(',')[1], r: 3}));
  });
  svg.append(drawing('text', {x: LEFT, y: HEIGHT - 6}, 'step 1'));
  if (lines[0].length > 1) svg.append(drawing('text', {x: WIDTH, y: HEIGHT - 6, 'text-anchor': 'end'}, `step ${lines[0].length}`));
  const label = element('figcaption', {}, title);
  svg.addEventListener('mousemove', (event) => {
    const box = svg.getBoundingClientRect();
    const x = WIDTH * (event.clientX - box.left) / box.width;
    const at = Math.max(0, Math.min(lines[0].length - 1, Math.round((x - LEFT) / (WIDTH - LEFT - 4) * (lines[0].length - 1))));
    const text = (number) => number === null ? 'not finite' : name(number, 7);
    label.textContent = `${title} of step ${at + 1}: ${lines.map((line, side) => `${side ? `${report.against} ` : ''}${text(line[at])}`).join(', ')}`;
  });
  return element('figure', {}, label, svg);
}

/// A point for each op on a logarithmic axis; errors that are not finite lie on
/// top.
function errors() {
  const LEAST = -8, MOST = 1;
  const decades = Array.from({length: MOST - LEAST + 1}, (_, i) => LEAST + i);
  const place = (decade) => (decade - LEAST) / (MOST - LEAST);
  const svg = axes(decades, place, (decade) => share(10 ** decade));
  const level = heightOf(place(Math.log10(report.tensor_tolerance)));
  svg.append(drawing('path', {class: 'limit', d: `M${LEFT},${level} H${WIDTH}`}));
  report.ops.forEach((op, i) => {
    const decade = op.error === null ? MOST : Math.max(LEAST, Math.min(MOST, Math.log10(op.error)));
    const blamed = report.parting && report.parting.op === i;
    const point = drawing('circle', {class: blamed ? 'blamed' : op.phase === 'forward' ? 'ours' : 'theirs',
      cx: (LEFT + 4 + (WIDTH - LEFT - 8) * (i + 0.5) / report.ops.length).toFixed(1), cy: heightOf(place(decade)), r: blamed ? 6 : 3},
    drawing('title', {}, `${op.node} (${op.type || op.op}), ${op.format}: ${share(op.error)}, its inputs ${share(op.inputs_error)}`));
    point.addEventListener('click', () => {
      byId('search').value = op.node;
      search();
      byId('filter').scrollIntoView();
    });
    svg.append(point);
  });
  svg.append(drawing('text', {x: LEFT, y: HEIGHT - 6}, 'first op'), drawing('text', {x: WIDTH, y: HEIGHT - 6, 'text-anchor': 'end'}, 'last op'));
  return element('figure', {}, element('figcaption', {}, 'forward blue, backward orange; dashed: the tolerance'), svg);
}

//===--- Tables ---===//

const growthOf = (op) => op.error === null ? (op.inputs_error === null ? 1 : Infinity) : op.error / Math.max(op.inputs_error ?? Infinity, 1e-6);
const sizeOf = (op) => op.error ?? Infinity;

function ordered(ops) {
  const by = {error: sizeOf, growth: growthOf}[byId('order').value];
  return by ? ops.sort((a, b) => (by(a) === by(b) ? 0 : by(b) - by(a))) : ops;
}

function showOps() {
  const text = byId('search').value.trim().toLowerCase();
  const found = ordered(report.ops.filter((op) => !text || [op.node, op.op, op.type, op.module, op.format].some((field) => field.toLowerCase().includes(text))));
  const rows = found.slice(0, shown).map((op) => element('tr', {},
    element('td', {className: 'name'}, op.node), element('td', {}, op.type || op.op), element('td', {}, op.phase), element('td', {}, op.format),
    element('td', {className: 'number'}, share(op.error)), element('td', {className: 'number'}, share(op.inputs_error)),
    element('td', {className: 'number'}, String(op.step))));
  byId('found').textContent = `${found.length} of ${report.ops.length} ops`;
  byId('more').hidden = found.length <= shown;
  byId('ops').replaceChildren(header(['node'], ['type'], ['phase'], ['format'], ['error', 1], ['of inputs', 1], ['in step', 1]), ...rows);
}

function search() {
  shown = PAGE;
  showOps();
}

function showParameters() {
  const rows = [...report.parameters].sort((a, b) => (sizeOf(a) === sizeOf(b) ? 0 : sizeOf(b) - sizeOf(a))).map((parameter) => element('tr', {},
    element('td', {className: 'name'}, parameter.name), element('td', {className: 'number'}, share(parameter.error))));
  byId('parameters').replaceChildren(header(['parameter'], ['error', 1]), ...rows);
}

document.title = `${report.model}: mpc compare`;
byId('model').textContent = `${report.model}: ${report.precision} against ${report.against}`;
byId('low-name').textContent = report.precision;
byId('wide-name').textContent = report.against;
byId('verdict').textContent = report.verdict;
byId('verdict').className = report.holds ? 'holds' : 'parts';
const column = (key) => report.steps.map((step) => step[key]);
byId('curves').append(curves('loss', [column('loss'), column('reference_loss')], short),
  curves('gradient norm', [column('grad_norm'), column('reference_grad_norm')], short),
  curves('loss, apart', [report.steps.map((step) => step.loss === null ? null : Math.abs(step.loss - step.reference_loss) / Math.max(Math.abs(step.reference_loss), 1e-30))], (error) => share(error)));
byId('errors').append(errors());
byId('filter').addEventListener('submit', (event) => event.preventDefault());
byId('filter').addEventListener('input', search);
byId('more').addEventListener('click', () => { shown += PAGE; showOps(); });
showOps();
showParameters();
