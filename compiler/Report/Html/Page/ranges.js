// The profiled results of ops, and the limits of formats.

// The largest number of each format, and the smallest above zero; wider formats come first.
const FORMATS = Object.fromEntries(Object.entries(report.formats).sort(([, a], [, b]) => a.smallest - b.smallest));
const FIRST = -44, BINS = 64; // Exponents of a histogram: those of mpc profile.

const isOutside = (tensor, {largest, smallest}) => tensor.largest > largest || (tensor.smallest > 0 && tensor.smallest < smallest);
const isBroken = (tensor) => tensor.nans + tensor.infinities > 0;

/// Returns true if some result of an op matches the filter `name`.
function hasRange(op, name) {
  return (op.ranges || []).some((tensor) => name === 'broken' ? isBroken(tensor) : isOutside(tensor, FORMATS[name]));
}

/// The number of elements with an exponent in [from, to).
function countBetween(tensor, from, to) {
  return tensor.exponents.counts.reduce((sum, n, i) => {
    const exponent = tensor.exponents.first + i;
    return exponent >= from && exponent < to ? sum + n : sum;
  }, 0);
}

const rough = (number) => number === 0 ? '0' : Math.abs(number) >= 1e-3 && Math.abs(number) < 1e5
  ? Number(number.toPrecision(4)).toString() : number.toExponential(2);

/// "12 (0.4 %)", or "some" if the number is unknown but not zero.
function partOf(tensor, number, some) {
  if (number === 0) return some ? 'some' : 'none';
  const share = 100 * number / (tensor.count || 1);
  return `${number} (${share < 0.1 ? '< 0.1' : share.toFixed(1)} %)`;
}

const tooSmall = (tensor, {smallest}) => partOf(tensor, countBetween(tensor, -Infinity, Math.log2(smallest)),
  tensor.smallest > 0 && tensor.smallest < smallest);
const tooLarge = (tensor, {largest}) => partOf(tensor, countBetween(tensor, Math.floor(Math.log2(largest)) + 1, Infinity),
  tensor.largest > largest);

function brokenText(tensor) {
  return isBroken(tensor) ? `${tensor.nans} NaN, ${tensor.infinities} infinite` : 'none';
}

/// The tooltip of an op.
function rangeText(op) {
  return (op.ranges || []).map((tensor) => `largest ${rough(tensor.largest)}, smallest above 0 ${rough(tensor.smallest)}, ` +
    `zeros ${partOf(tensor, tensor.zeros)}, not finite ${brokenText(tensor)}, ` +
    `too small for f16: ${tooSmall(tensor, FORMATS.f16)}; too large: ${tooLarge(tensor, FORMATS.f16)}`).join('\n');
}

//===--- Drawings ---===//

/// Heights from 0 to 1 of all bins, on a logarithmic scale, because the few
/// elements in the tails matter.
function heightsOf(tensor) {
  const heights = new Array(BINS).fill(0);
  tensor.exponents.counts.forEach((n, i) => {
    const bin = Math.max(0, Math.min(BINS - 1, tensor.exponents.first + i - FIRST));
    heights[bin] += n;
  });
  const most = Math.log1p(heights.reduce((a, b) => Math.max(a, b), 1));
  return heights.map((n) => Math.log1p(n) / most);
}

/// A histogram in a line of text.
function sparkline(op) {
  const [tensor] = op.ranges || [];
  if (!tensor) return '';
  const WIDTH = BINS, HEIGHT = 16;
  const bars = heightsOf(tensor).map((height, i) => height ? `M${i + 0.5},${HEIGHT} V${(HEIGHT - Math.max(2, height * HEIGHT)).toFixed(1)}` : '').join(' ');
  return drawing('svg', {class: hasRange(op, 'broken') ? 'spark broken' : hasRange(op, 'f16') ? 'spark outside' : 'spark',
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT}, drawing('path', {d: bars}), drawing('title', {}, rangeText(op)));
}

/// The histogram with a line below it for each format, from its smallest number
/// to its largest.
function histogram(tensor) {
  const BAR = 6, HEIGHT = 90, LEFT = 40, LINE = 14, formats = Object.entries(FORMATS);
  const width = LEFT + BINS * BAR + 4, height = HEIGHT + 16 + LINE * formats.length;
  const across = (exponent) => LEFT + (exponent - FIRST) * BAR;
  const svg = drawing('svg', {class: 'histogram', viewBox: `0 0 ${width} ${height}`, width, height});
  const low = Math.log2(FORMATS.f16.smallest), high = Math.ceil(Math.log2(FORMATS.f16.largest));
  heightsOf(tensor).forEach((part, i) => {
    if (!part) return;
    const exponent = FIRST + i, size = Math.max(1, part * (HEIGHT - 4));
    const n = countBetween(tensor, i ? exponent : -Infinity, i + 1 < BINS ? exponent + 1 : Infinity);
    svg.append(drawing('rect', {class: exponent < low || exponent >= high ? 'outside' : '', x: across(exponent) + 0.5, y: (HEIGHT - size).toFixed(1),
      width: BAR - 1, height: size.toFixed(1)}, drawing('title', {}, `${n} of size 2^${exponent} to 2^${exponent + 1}`)));
  });
  svg.append(drawing('path', {d: `M${LEFT},${HEIGHT} H${width}`}));
  for (let exponent = -40; exponent < FIRST + BINS; exponent += 10)
    svg.append(drawing('text', {x: across(exponent), y: HEIGHT + 12, 'text-anchor': 'middle'}, `2^${exponent}`));
  formats.forEach(([name, format], i) => {
    const y = HEIGHT + 16 + LINE * i + LINE / 2, from = across(Math.log2(format.smallest)), to = across(Math.log2(format.largest));
    svg.append(drawing('text', {x: 0, y: y + 4}, name),
      drawing('path', {class: 'extent', d: `M${from},${y - 4} V${y + 4} M${from},${y} H${to.toFixed(1)} M${to.toFixed(1)},${y - 4} V${y + 4}`}));
    // Only f16 is used without a scale, unlike FP8.
    if (name === 'f16') svg.append(drawing('path', {class: 'limit', d: `M${from},0 V${y} M${to.toFixed(1)},0 V${y}`}));
  });
  return svg;
}

/// The display of the results of the selected op.
function rangeDetails(op) {
  return (op.ranges || []).map((tensor, i) => {
    const list = element('dl');
    const add = (name, value) => list.append(element('dt', {}, name), element('dd', {}, value));
    add('largest', rough(tensor.largest));
    add('smallest above 0', rough(tensor.smallest));
    add('zeros', partOf(tensor, tensor.zeros));
    add('not finite', brokenText(tensor));
    const changes = (name) => tensor.sensitivity && name in tensor.sensitivity ? rough(Math.sqrt(tensor.sensitivity[name])) : '-';
    const rows = [element('tr', {}, element('td', {}, 'bf16'), element('td', {}, '-'), element('td', {}, '-'), element('td', {className: 'number'}, changes('bf16'))),
      ...Object.entries(FORMATS).map(([name, format]) => element('tr', {}, element('td', {}, name), element('td', {}, tooSmall(tensor, format)),
        element('td', {}, tooLarge(tensor, format)), element('td', {className: 'number'}, changes(name))))];
    return element('section', {className: 'range'},
      element('h2', {}, `Measured${op.ranges.length > 1 ? `, result ${i + 1} of ${op.ranges.length}` : ''}: f32, ${count(report.profile.steps, 'step')}, ${report.profile.file}`),
      list, histogram(tensor),
      element('table', {}, header(['format'], ['too small'], ['too large'], ['changes the loss by', 1]), ...rows),
      element('p', {}, 'Scales of FP8 are not taken into account. Bars are logarithmic. The change of the loss caused by rounding all elements is a first-order estimate, the root mean square over the steps.'));
  });
}
