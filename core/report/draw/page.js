'use strict';
// The page of `emplace draw`: shows what is open of the picture in #data, which page_data.cpp writes. A box has an id: that of its
// node (0, 1, ..., scope by scope), or minus that of its scope. Every text of the graph becomes a text node, never markup.
const D = JSON.parse(document.getElementById('data').textContent);
const W = 184, H = 44, PAD = 16, HEAD = 30, GAP = 44, LINE = 15, MOST = 400;  // as in arrangement.h
const S = D.scopes, N = D.name.length;
const $ = id => document.getElementById(id);

function make(tag, attrs, ...children) {
  const svg = /^(g|rect|path|text|title)$/.test(tag);
  const e = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const k in attrs) typeof attrs[k] == 'function' ? e[k] = attrs[k] : e.setAttribute(k, attrs[k]);
  e.append(...children);
  return e;
}
const short = (text, most) => {
  const c = [...text], tail = Math.floor((most - 1) * 3 / 5);
  return c.length <= most ? text : c.slice(0, most - 1 - tail).join('') + '\u2026' + c.slice(c.length - tail).join('');
};
const counted = (n, what) => n + ' ' + what + (n == 1 ? '' : 's');
const size = b => {
  if (b < 0) return '?';
  let u = 0;
  while (b >= 1024 && u < 4) b /= 1024, ++u;
  return (u ? b.toFixed(1) : b) + [' B', ' KiB', ' MiB', ' GiB', ' TiB'][u];
};
const time = us => us < 0 ? '?' : us < 1e3 ? us.toFixed(1) + ' us' : us < 1e6 ? (us / 1e3).toFixed(2) + ' ms' : (us / 1e6).toFixed(2) + ' s';

// ---- the graph

const scopeOf = new Int32Array(N);
S.forEach((scope, s) => scope.k.forEach(kid => kid < 0 ? 0 : scopeOf[kid] = s));
const parentOf = id => id < 0 ? S[-id].p : scopeOf[id];
const placeOf = (() => {
  const at = new Map();
  S.forEach(scope => scope.k.forEach((kid, i) => at.set(kid, i)));
  return id => at.get(id);
})();
const nodeName = i => D.name[i] === '' ? S[scopeOf[i]].n.slice(0, -1) : S[scopeOf[i]].n + D.name[i];
const pathOf = s => s == 0 ? '' : (S[s].p ? pathOf(S[s].p) + '/' : '') + (S[s].q || S[s].l);
const nameOf = id => id < 0 ? pathOf(-id) : nodeName(id);
const labelOf = id => id < 0 ? S[-id].l : D.name[id] || '(' + nodeName(id).split('/').pop() + ')';
const t = (column, i) => D.texts[D[column][i]];
const edges = [];  // [from, to, control]
for (let i = 0, to = 0; i < D.edges.length; ++to) {
  for (let n = D.edges[i++]; n > 0; --n, ++i) edges.push(D.edges[i] < 0 ? [-1 - D.edges[i], to, 1] : [D.edges[i], to, 0]);
}
const copiesOf = new Map();  // by edge
D.copies.forEach((c, k) => c.readers.forEach(r => {
  const key = c.node * N + r;
  copiesOf.has(key) ? copiesOf.get(key).push(k) : copiesOf.set(key, [k]);
}));
const total = (bytes, known, atLeast) => known ? size(bytes) : bytes ? atLeast + size(bytes) : 'size unknown';
const bytesOf = copies => {
  let sum = 0, known = true;
  for (const k of copies) D.copies[k].bytes === null ? known = false : sum += D.copies[k].bytes;
  return (copies.length > 1 ? copies.length + ' copies, ' : '') + total(sum, known, 'at least ');
};
const holds = id => id < 0 && S[-id].c;  // how many copies lie in a scope, their bytes, how many of unknown size
const insideText = ([n, bytes, unknown]) => n + (n == 1 ? ' copy' : ' copies') + ' inside, ' + total(bytes, !unknown, '\u2265 ');
const insideOf = id => id < 0 ? [S[-id].a, S[-id].e] : [id, id + 1];
function sums(id) {
  const [a, e] = insideOf(id), on = D.devices.map(() => 0);
  let us = 0, bytes = 0, timed = false, sized = false;
  for (let i = a; i < e; ++i) {
    ++on[D.device[i]];
    if (D.us && D.us[i] >= 0) us += D.us[i], timed = true;
    if (D.bytes[i] >= 0) bytes += D.bytes[i], sized = true;
  }
  return {on, us: timed ? us : -1, bytes: sized ? bytes : -1, nodes: e - a};
}
const onText = on => on.map((n, d) => n ? D.devices[d].name + ' ' + n : '').filter(x => x).join(', ');

// ---- what is open, and where it is

const state = {open: new Set(D.open), at: null, copy: null, color: D.color, theme: 'auto', x: 0, y: 0, k: 1};
let boxes = new Map(), frames = new Map(), lines = [];

const isOpen = id => id < 0 && state.open.has(-id);
function countBoxes() {
  let n = S[0].k.length;
  for (const s of state.open) if (visible(s)) n += S[s].k.length;
  return n;
}
const visible = s => s == 0 || (state.open.has(s) && visible(S[s].p));
/// Opens a scope and those around it; what was opened longest ago is closed where there would be too many boxes.
function open(s) {
  const keep = new Set();
  for (let q = s; q != 0; q = S[q].p) keep.add(q), state.open.add(q);
  for (const other of [...state.open]) if (!keep.has(other) && countBoxes() > MOST) state.open.delete(other), say('closed ' + pathOf(other));
}

/// Room for a child that has become wider: what is right of it moves by all of it, what is above or below by half.
function widen(x, w, i, width) {
  const left = x[i], right = left + w[i], more = Math.max(0, width - w[i]);
  for (let j = 0; j < x.length; ++j) if (j != i && x[j] + w[j] > left) x[j] += x[j] >= right ? more : more / 2;
  w[i] += more;
}

function measure(s) {
  const c = S[s], x = c.x.slice(), w = x.map((_, i) => i < c.k.length ? W : 0), h = c.k.map(kid => H + (holds(kid) ? LINE : 0)), tall = [];
  c.k.forEach((kid, i) => {
    if (!isOpen(kid)) return;
    const inner = measure(-kid);
    widen(x, w, i, inner.width);
    h[i] = inner.height;
  });
  c.k.forEach((_, i) => tall[c.y[i]] = Math.max(tall[c.y[i]] || H, h[i]));
  const top = [];
  let y = 0;
  for (const height of tall) top.push(y), y += height + GAP;
  const inner = Math.max(...x.map((left, i) => left + w[i]));
  const frame = {x, w, h, top, tall, inner, width: Math.max(W, inner + 2 * PAD), height: y - GAP + HEAD + PAD};
  frames.set(s, frame);
  return frame;
}

function put(s, left, top) {
  const f = frames.get(s);
  f.left = left, f.up = top, f.cx = left + (f.width - f.inner) / 2, f.cy = top + HEAD;
  S[s].k.forEach((kid, i) => {
    const box = {id: kid, s, i, x: f.cx + f.x[i], y: f.cy + f.top[S[s].y[i]], w: f.w[i], h: f.h[i]};
    boxes.set(kid, box);
    if (isOpen(kid)) put(-kid, box.x, box.y), box.w = frames.get(-kid).width;
  });
}

function seenEdges() {
  const seen = new Int32Array(N), all = new Map(), span = N + S.length;
  for (const id of boxes.keys()) if (!isOpen(id)) { const [a, e] = insideOf(id); seen.fill(id, a, e); }
  for (const [from, to, control] of edges) {
    const a = seen[from], b = seen[to];
    if (a == b) continue;
    const key = (a + S.length) * span + b + S.length;
    let line = all.get(key);
    if (!line) all.set(key, line = {from: a, to: b, tensors: 0, controls: 0, copies: new Set()});
    control ? ++line.controls : ++line.tensors;
    for (const k of copiesOf.get(from * N + to) || []) line.copies.add(k);
  }
  return [...all.values()];
}

/// Bends of a line in a scope's layers from `layer` on: at the top and at the bottom of each.
function follow(s, first, layer, end, spots) {
  if (first === undefined) return;
  const f = frames.get(s);
  for (; layer < end; ++layer, ++first) {
    const x = f.cx + f.x[first], y = f.cy + f.top[layer];
    spots.push([x, y], [x, y + f.tall[layer]]);
  }
}
const lanes = new Map();  // of a scope: {r: "i,j" -> bend, i: child -> bend, o: child -> bend}
function lanesOf(s) {
  if (lanes.has(s)) return lanes.get(s);
  const l = {r: new Map(), i: new Map(), o: new Map()}, c = S[s];
  for (let n = 0; n < c.r.length; n += 3) l.r.set(c.r[n] + ',' + c.r[n + 1], c.r[n + 2]);
  for (const way of 'io') for (let n = 0; n < c[way].length; n += 2) l[way].set(c[way][n], c[way][n + 1]);
  lanes.set(s, l);
  return l;
}

/// As Arranger::route_of() of arrangement.cpp: from the upper box down to the lower one.
function route(line) {
  const chain = id => { const up = [id]; while (parentOf(id) != 0) up.push(id = -parentOf(id)); return up; };
  const a = chain(line.from), b = chain(line.to);
  while (a.length > 1 && b.length > 1 && a[a.length - 1] == b[b.length - 1]) a.pop(), b.pop();
  const s = parentOf(a[a.length - 1]), c = S[s], layer = id => S[parentOf(id)].y[placeOf(id)];
  line.back = layer(a[a.length - 1]) > layer(b[b.length - 1]);
  const [upper, lower] = line.back ? [b, a] : [a, b];
  const start = boxes.get(upper[0]), down = [[start.x + start.w / 2, start.y + start.h]];
  upper.forEach((id, n) => {
    const q = parentOf(id), f = frames.get(q), end = f.cy + f.top[layer(id)] + f.tall[layer(id)];
    down.push([down[down.length - 1][0], end]);
    if (n == upper.length - 1) return;
    follow(q, lanesOf(q).o.get(placeOf(id)), layer(id) + 1, f.top.length, down);
    down.push([down[down.length - 1][0], f.up + f.height]);
  });
  const u = upper[upper.length - 1], v = lower[lower.length - 1];
  follow(s, lanesOf(s).r.get(placeOf(u) + ',' + placeOf(v)), layer(u) + 1, layer(v), down);
  const stop = boxes.get(lower[0]), up = [[stop.x + stop.w / 2, stop.y]];
  lower.slice(0, -1).forEach(id => {
    const q = parentOf(id), lane = [];
    follow(q, lanesOf(q).i.get(placeOf(id)), 0, layer(id), lane);
    up.push(...lane.reverse());
    up.push([up[up.length - 1][0], frames.get(q).up]);
  });
  line.spots = down.concat(up.reverse());
}

function pathText(spots) {
  const p = spots.map(([x, y]) => [Math.round(x), Math.round(y)]);
  let d = 'M' + p[0];
  for (let i = 1; i < p.length; ++i) {
    const [x0, y0] = p[i - 1], [x, y] = p[i], mid = (y0 + y) / 2;
    if (x0 == x) d += y0 == y ? '' : 'V' + y;
    else d += 'C' + [x0, mid, x, mid, x, y];
  }
  return d;
}

// ---- drawing

function heat(level) { return 'h' + level; }
function fillOf(sum, most) {
  if (state.color == 'device') {
    const used = sum.on.filter(n => n).length;
    return used > 1 ? 'h0' : 'd' + sum.on.findIndex(n => n) % 8;
  }
  const share = (state.color == 'time' ? sum.us : sum.bytes) / most;
  return heat(!(share > 0) ? 0 : share >= .5 ? 4 : share >= .2 ? 3 : share >= .05 ? 2 : 1);
}
function badgeOf(sum) {
  if (state.color != 'device') return state.color == 'time' ? time(sum.us) : size(sum.bytes);
  const all = D.devices.map((d, i) => sum.on[i] ? d.badge : '').filter(x => x);
  return all.slice(0, 3).join(' ') + (all.length > 3 ? ' +' + (all.length - 3) : '');
}
const what = i => (t('op', i) + ' ' + t('tensor', i)).trim();

function drawBox(box, sum, most) {
  const {id, w, h} = box, opened = isOpen(id), scope = id < 0;
  const told = scope ? 'scope ' + nameOf(id) + ', ' + counted(sum.nodes, 'node') + ' on ' + onText(sum.on) + (holds(id) ? ', ' + insideText(holds(id)) : '')
    : nameOf(id) + ', ' + what(id) + ', on ' + D.devices[D.device[id]].name;
  const g = make('g', {class: 'box ' + (opened ? 'open' : (scope ? 'closed ' : '') + (holds(id) ? 'holds ' : '') + fillOf(sum, most)) + (state.at === id ? ' at' : ''), role: 'button',
    'data-id': id, tabindex: -1, 'aria-label': told, transform: `translate(${Math.round(box.x)} ${Math.round(box.y)})`}, make('title', {}, told));
  if (scope) g.setAttribute('aria-expanded', opened);
  else g.setAttribute('aria-pressed', state.at === id);
  g.append(make('rect', {width: Math.round(w), height: Math.round(h), rx: scope ? 6 : 4}));
  g.append(make('text', {class: 'name', x: 8, y: 18}, short((scope ? opened ? '\u25be ' : '\u25b8 ' : '') + labelOf(id), opened ? Math.floor((w - 16) / 7.5) : 22)));
  if (opened) return g;
  const room = state.color == 'device' ? 20 : 16, cut = room - t('tensor', id < 0 ? 0 : id).length - 1;
  g.append(make('text', {x: 8, y: 34}, scope ? counted(sum.nodes, 'node') : what(id).length > room && cut > 3 && t('tensor', id)
    ? t('op', id).slice(0, cut - 1) + '\u2026 ' + t('tensor', id) : short(what(id), room)));
  g.append(make('text', {class: 'badge', x: W - 8, y: 34}, badgeOf(sum)));
  if (holds(id)) g.append(make('text', {x: 8, y: 49}, short(insideText(holds(id)), 32)));
  if (scope) {
    let x = 3;
    sum.on.forEach((n, d) => {
      if (!n) return;
      const part = (W - 6) * n / sum.nodes;
      g.append(make('rect', {class: 'd' + d % 8, x, y: h - 6, width: part, height: 4}));
      x += part;
    });
  }
  return g;
}

const touches = (line, id) => line.from === id || line.to === id;
function drawLine(line) {
  const at = state.copy !== null ? line.copies.has(state.copy) : state.at !== null && touches(line, state.at);
  const kind = ['edge', line.tensors ? '' : 'control', line.copies.size ? 'copy' : '', line.back ? 'back' : '', at ? 'at' : ''].filter(x => x).join(' ');
  const told = nameOf(line.from) + ' to ' + nameOf(line.to) + ': ' + [line.tensors ? counted(line.tensors, 'tensor') : '',
    line.controls ? counted(line.controls, 'control edge') : '', line.copies.size ? 'copied, ' + bytesOf([...line.copies]) : ''].filter(x => x).join(', ');
  return make('path', {class: kind, d: pathText(line.spots)}, make('title', {}, told));
}

function draw() {
  boxes = new Map(), frames = new Map();
  measure(0), put(0, 0, 0);
  lines = seenEdges();
  lines.forEach(route);
  const view = $('view'), sum = new Map(), labels = new Map();
  let most = 0;
  for (const id of boxes.keys()) {
    const one = sums(id);
    sum.set(id, one);
    if (!isOpen(id)) most = Math.max(most, state.color == 'time' ? one.us : one.bytes);
  }
  const held = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.id : undefined;
  view.replaceChildren();
  for (const box of boxes.values()) if (isOpen(box.id)) view.append(drawBox(box, sum.get(box.id), most));
  lines.sort((a, b) => a.copies.size - b.copies.size);
  view.append(...lines.map(drawLine));
  for (const box of boxes.values()) if (!isOpen(box.id)) view.append(drawBox(box, sum.get(box.id), most));
  for (const line of lines.filter(l => l.copies.size)) {
    const early = !line.back && lines.filter(l => l.copies.size && l.from === line.from).length == 1;  // the label is where the edge begins
    const n = early ? 0 : labels.get(line.to) || 0, [x, y] = line.spots[early || line.back ? 0 : line.spots.length - 1];
    if (!early) labels.set(line.to, n + 1);
    view.append(make('text', {class: 'bytes', x: Math.round(x) + 6, y: Math.round(y) + (early ? 13 : line.back ? 25 : -9 - 12 * (n % 3))}, bytesOf([...line.copies])));
  }
  view.classList.toggle('dim', state.at !== null || state.copy !== null);
  const first = view.querySelector(`[data-id="${held}"]`) || view.querySelector(`[data-id="${state.at}"]`) || view.querySelector('.box');
  if (first) first.setAttribute('tabindex', 0);
  if (held !== undefined && first) first.focus({preventScroll: true});
  move();
  legend();
}

function move() {
  $('view').setAttribute('transform', `translate(${state.x} ${state.y}) scale(${state.k})`);
  keepAddress();
}
function fit(least) {
  const f = frames.get(0), r = $('picture').getBoundingClientRect();
  state.k = Math.max(least || .02, Math.min(1.2, (r.width - 20) / f.width, (r.height - 20) / f.height));
  const first = [...boxes.values()].reduce((top, b) => b.y < top.y ? b : top, {x: 0, y: Infinity, w: f.width});
  const wide = f.width * state.k > r.width, middle = wide ? first.x + first.w / 2 : f.width / 2;
  state.x = r.width / 2 - middle * state.k;
  state.y = Math.max(10 - HEAD * state.k, (r.height - f.height * state.k) / 2);
  move();
}
function zoom(factor, x, y) {
  const r = $('picture').getBoundingClientRect();
  if (x === undefined) x = r.width / 2, y = r.height / 2;
  const k = Math.min(4, Math.max(.02, state.k * factor));
  state.x = x - (x - state.x) * k / state.k, state.y = y - (y - state.y) * k / state.k, state.k = k;
  move();
}
/// Draws anew with a box where it was.
function drawAround(id) {
  const before = boxes.get(id);
  draw();
  const after = boxes.get(id);
  if (before && after) state.x += (before.x - after.x) * state.k, state.y += (before.y - after.y) * state.k, move();
}
function show(id) {
  const b = boxes.get(id), r = $('picture').getBoundingClientRect();
  if (!b) return;
  state.k = Math.max(state.k, .7);
  const x = b.x * state.k + state.x, y = b.y * state.k + state.y;
  if (x < 0 || y < 0 || x + b.w * state.k > r.width || y + b.h * state.k > r.height) {
    state.x = r.width / 2 - (b.x + Math.min(b.w, r.width / state.k) / 2) * state.k;
    state.y = r.height / 3 - b.y * state.k;
  }
  move();
}

// ---- acting

function toggle(s) {
  visible(s) ? state.open.delete(s) : open(s);
  drawAround(-s);
  say((isOpen(-s) ? 'opened ' : 'closed ') + pathOf(s) + ', ' + boxes.size + ' boxes');
}
function select(id, copy) {
  state.at = id, state.copy = copy === undefined ? null : copy;
  if (id !== null && parentOf(id)) open(parentOf(id));
  if (state.copy !== null) for (const r of D.copies[copy].readers.slice(0, 1)) if (scopeOf[r]) open(scopeOf[r]);
  if (id !== null && parentOf(id)) open(parentOf(id));
  draw();
  if (id !== null) show(id);
  panel();
}
const focusBox = id => { const g = $('view').querySelector(`[data-id="${id}"]`); if (g) g.focus({preventScroll: true}), show(id); };
function act(id) { id < 0 ? (select(id), toggle(-id)) : select(id); focusBox(id); }

function search(text) {
  const q = text.trim().toLowerCase(), found = [];
  if (!q) return found;
  for (let i = 0; i < N; ++i) {
    const name = nodeName(i).toLowerCase(), op = t('op', i).toLowerCase();
    const rank = name == q ? 0 : name.endsWith('/' + q) ? 1 : name.includes(q) ? 2 : op == q ? 3 : op.includes(q) ? 4
      : (t('reason', i) + ' ' + D.devices[D.device[i]].name).toLowerCase().includes(q) ? 5 : -1;
    if (rank >= 0) found.push([rank, i]);
  }
  return found.sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(f => f[1]);
}
function showFound() {
  const found = search($('search').value), list = $('found');
  list.replaceChildren(...found.slice(0, 50).map((i, n) => make('li', {role: 'option', id: 'found' + n, 'data-node': i, 'aria-selected': n == 0, onclick: () => pick(i)},
    nodeName(i) + ' ', make('small', {}, t('op', i) + ' on ' + D.devices[D.device[i]].name))));
  list.hidden = !found.length;
  $('search').setAttribute('aria-expanded', !list.hidden);
  found.length ? $('search').setAttribute('aria-activedescendant', 'found0') : $('search').removeAttribute('aria-activedescendant');
  if ($('search').value) say(counted(found.length, 'node') + ' found' + (found.length > 50 ? ', 50 shown' : ''));
}
function pick(i) { $('found').hidden = true, $('search').setAttribute('aria-expanded', false), select(i), focusBox(i); }
function walkFound(step) {
  const all = [...$('found').children], now = all.findIndex(e => e.getAttribute('aria-selected') == 'true');
  const next = all[Math.min(all.length - 1, Math.max(0, now + step))];
  if (!next) return;
  all.forEach(e => e.setAttribute('aria-selected', e == next));
  next.scrollIntoView({block: 'nearest'});
  $('search').setAttribute('aria-activedescendant', next.id);
}

function neighbour(id, key) {
  const from = boxes.get(id), cx = b => b.x + b.w / 2, cy = b => b.y + Math.min(b.h, H) / 2;
  let best = null, least = Infinity;
  for (const b of boxes.values()) {
    const dx = cx(b) - cx(from), dy = cy(b) - cy(from);
    const [ahead, aside] = key == 'ArrowDown' ? [dy, dx] : key == 'ArrowUp' ? [-dy, dx] : key == 'ArrowRight' ? [dx, dy] : [-dx, dy];
    if (b.id === id || ahead <= 1) continue;
    const far = ahead + 2.5 * Math.abs(aside);
    if (far < least) least = far, best = b.id;
  }
  return best;
}

// ---- the panel

const go = id => make('button', {class: 'link', onclick: () => { select(id); focusBox(id); }}, nameOf(id));
const list = (title, rows) => rows.length ? [make('h3', {}, title), make('table', {}, ...rows.slice(0, 200).map(cells => make('tr', {}, ...cells.map(c => make('td', {}, c))))),
  rows.length > 200 ? make('p', {}, 'and ' + (rows.length - 200) + ' more') : ''] : [];
const facts = pairs => make('dl', {}, ...pairs.filter(p => p[1] !== '').flatMap(([k, v]) => [make('dt', {}, k), make('dd', {}, v)]));
const copyRow = k => {
  const c = D.copies[k];
  return [make('button', {class: 'link', onclick: () => select(c.node, k)}, c.tensor),
    make('span', {class: 'whole'}, D.devices[c.from].name + ' \u2192 ' + D.devices[c.to].name), make('span', {class: 'whole'}, c.bytes === null ? '?' : size(c.bytes))];
};
function nodePanel(i) {
  const ins = edges.filter(e => e[1] == i), outs = edges.filter(e => e[0] == i);
  const copies = D.copies.map((_, k) => k).filter(k => D.copies[k].node == i || D.copies[k].readers.includes(i));
  const group = D.group[i] < 0 ? [] : D.group.map((g, j) => g == D.group[i] ? j : -1).filter(j => j >= 0);
  const row = (e, j) => [go(j), t('op', j), D.devices[D.device[j]].name, e[2] ? 'control' : ''];
  return [make('h2', {}, nodeName(i)),
    facts([['op', t('op', i)], ['output', t('tensor', i)], ['device', make('strong', {}, D.devices[D.device[i]].name)], ['why', t('reason', i) + ': ' + t('why', i)],
      ['asks for', t('asks', i)], ['from', t('from', i)], ['time', D.us && D.us[i] >= 0 ? time(D.us[i]) + ' a step' : ''], ['memory', size(D.bytes[i])]]),
    ...list('Copies, each step', copies.map(copyRow)),
    make('h3', {}, 'Devices'), make('ul', {}, ...t('verdicts', i).split('; ').map(v => make('li', {}, v))),
    ...list('Group: ' + group.length + ' nodes must be on one device', group.map(j => [go(j), t('link', j)])),
    ...list('Inputs', ins.map(e => row(e, e[0]))), ...list('Read by', outs.map(e => row(e, e[1]))),
    make('p', {}, 'What would move it: ', make('code', {}, 'emplace explain ' + D.file + ' ' + nodeName(i)))];
}
function scopePanel(id) {
  const s = sums(id), ops = new Map(), copies = new Set();
  for (let i = S[-id].a; i < S[-id].e; ++i) ops.set(t('op', i), (ops.get(t('op', i)) || 0) + 1);
  for (const line of lines) if (touches(line, id)) for (const k of line.copies) copies.add(k);
  const within = i => i >= S[-id].a && i < S[-id].e, inside = D.copies.map((_, k) => k).filter(k => within(D.copies[k].node) && D.copies[k].readers.some(within));
  return [make('h2', {}, 'scope ' + nameOf(id)), make('button', {onclick: () => { toggle(-id); panel(); }}, isOpen(id) ? 'Close' : 'Open'),
    facts([['nodes', s.nodes], ['devices', onText(s.on)], ['time', s.us >= 0 ? time(s.us) + ' a step' : ''], ['memory', size(s.bytes)]]),
    ...list('Copies in and out', [...copies].map(copyRow)), ...list(holds(id) ? insideText(holds(id)) : '', byBytes(inside).map(copyRow)),
    ...list('Ops', [...ops].sort((a, b) => b[1] - a[1]).map(([op, n]) => [op, n]))];
}
const byBytes = copies => copies.sort((a, b) => (D.copies[b].bytes || 0) - (D.copies[a].bytes || 0));
function overview() {
  const order = byBytes(D.copies.map((_, k) => k));
  return [make('h2', {}, D.summary), D.part ? make('p', {}, D.part) : '', ...list('Devices', D.devices.filter(d => d.nodes).map(d => [d.badge, d.name, counted(d.nodes, 'node')])),
    ...list(order.length + (order.length == 1 ? ' copy' : ' copies') + ' between devices, each step', order.map(copyRow))];
}
const KEYS = [['/', 'search'], ['arrows', 'to the next box'], ['Enter', 'open, close, select'], ['u', 'close the scope around'], ['Esc', 'select nothing'], ['+ - 0', 'zoom, fit'],
  ['c', 'next colour'], ['Tab', 'to the panel'], ['?', 'this list']];
function panel(content) { $('panel').replaceChildren(...(content || (state.at === null ? overview() : state.at < 0 ? scopePanel(state.at) : nodePanel(state.at)))); }

function legend() {
  const key = (fill, badge, text) => [make('span', {class: 'key ' + fill}, badge), text];
  const colors = state.color == 'device' ? D.devices.flatMap((d, i) => d.nodes ? key('d' + i % 8, d.badge, d.name + ' ' + d.nodes) : [])
    : ['0 or ?', '< 5 %', '5-20 %', '20-50 %', '> 50 % of the most'].flatMap((text, i) => key(heat(i), i, text));
  const stroke = (kind, text) => [make('span', {class: 'stroke ' + kind}), text];
  $('legend').replaceChildren(...colors, ...stroke('', 'tensor'), ...stroke('dots', 'control'), ...stroke('bold', 'copy, bytes a step'));
}
const say = text => $('said').textContent = text;

// ---- the address

function keepAddress() {
  const part = encodeURIComponent, all = ['open=' + [...state.open].map(s => part(pathOf(s))).join(','), 'color=' + state.color, 'theme=' + state.theme,
    'view=' + [state.x.toFixed(), state.y.toFixed(), state.k.toFixed(3)]];
  if (state.at !== null) all.push((state.at < 0 ? 'scope=' : 'node=') + part(nameOf(state.at)));
  if (state.copy !== null) all.push('copy=' + state.copy);
  history.replaceState(null, '', '#' + all.join('&'));
}
function readAddress() {
  const had = new Map(location.hash.slice(1).split('&').map(p => p.split('=').map((x, i) => i ? x : decodeURIComponent(x))));
  const name = key => { try { return decodeURIComponent(had.get(key)); } catch (e) { return ''; } };
  if (had.has('open')) {
    const byPath = new Map(S.map((_, s) => [encodeURIComponent(pathOf(s)), s]));
    state.open = new Set();
    for (const p of had.get('open').split(',')) if (byPath.get(p) && countBoxes() + S[byPath.get(p)].k.length <= MOST) state.open.add(byPath.get(p));
  }
  if (['device', 'memory', ...(D.us ? ['time'] : [])].includes(had.get('color'))) state.color = had.get('color');
  if (['auto', 'light', 'dark'].includes(had.get('theme'))) state.theme = had.get('theme');
  state.at = state.copy = null;
  if (had.has('node')) state.at = Array.from({length: N}, (_, i) => i).find(i => nodeName(i) == name('node')) ?? null;
  if (had.has('scope')) state.at = S.map((_, s) => -s).find(id => id < 0 && nameOf(id) == name('scope')) ?? null;
  if (+had.get('copy') >= 0 && D.copies[+had.get('copy')]) state.copy = +had.get('copy'), state.at = D.copies[state.copy].node;
  $('color').value = state.color, $('theme').value = state.theme;
  theme();
  if (state.at !== null && parentOf(state.at)) open(parentOf(state.at));
  draw();
  const view = (had.get('view') || '').split(',').map(Number);
  if (view.length == 3 && view.every(isFinite) && view[2] > 0) [state.x, state.y, state.k] = view, move();
  else if (state.at !== null) fit(.6), show(state.at);
  else fit(.6);
  panel();
}
function theme() { document.documentElement.style.colorScheme = state.theme == 'auto' ? 'light dark' : state.theme; }

// ---- listening

function onKey(e) {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName), id = e.target.dataset && e.target.dataset.id !== undefined ? +e.target.dataset.id : null;
  if (e.target == $('search')) {
    if (e.key == 'ArrowDown' || e.key == 'ArrowUp') walkFound(e.key == 'ArrowDown' ? 1 : -1), e.preventDefault();
    if (e.key == 'Enter') { const row = $('found').querySelector('[aria-selected=true]'); if (row) pick(+row.dataset.node); }
    if (e.key == 'Escape') $('found').hidden = true, $('picture').focus();
    return;
  }
  if (typing) return;
  const keys = {'/': () => { $('search').focus(); $('search').select(); }, '+': () => zoom(1.25), '=': () => zoom(1.25), '-': () => zoom(.8), '0': () => fit(),
    'Escape': () => { select(null); panel(); }, 'c': () => { const s = $('color'); s.selectedIndex = (s.selectedIndex + 1) % s.options.length; s.onchange(); },
    '?': () => { panel([make('h2', {}, 'Keys'), facts(KEYS)]); $('panel').focus(); },
    'u': () => { const s = id === null ? 0 : isOpen(id) ? -id : parentOf(id); if (s) toggle(s), focusBox(-s); }};
  if (keys[e.key]) keys[e.key]();
  else if (e.key.startsWith('Arrow') && e.target.closest('#picture')) {
    const next = id === null ? boxes.keys().next().value : neighbour(id, e.key);
    if (next !== null && next !== undefined) focusBox(next);
  } else if ((e.key == 'Enter' || e.key == ' ') && id !== null) act(id);
  else return;
  e.preventDefault();
}

function start() {
  $('file').textContent = $('file').title = D.file;
  $('color').append(...['device', ...(D.us ? ['time'] : []), 'memory'].map(c => make('option', {}, c)));
  $('color').onchange = () => { state.color = $('color').value; draw(); say('coloured by ' + state.color); };
  $('theme').onchange = () => { state.theme = $('theme').value; theme(); keepAddress(); };
  $('search').oninput = showFound;
  $('search').onblur = () => setTimeout(() => $('found').hidden = true, 200);
  $('in').onclick = () => zoom(1.25), $('out').onclick = () => zoom(.8), $('fit').onclick = () => fit();
  $('close').onclick = () => { state.open.clear(); select(null); fit(.6); };
  $('overview').onclick = () => { select(null); $('panel').focus(); };
  $('help').onclick = () => panel([make('h2', {}, 'Keys'), facts(KEYS)]);
  document.addEventListener('keydown', onKey);
  const svg = $('picture');
  let drag = null;
  svg.onwheel = e => {
    e.preventDefault();
    const r = svg.getBoundingClientRect();
    zoom(Math.exp(-e.deltaY / 500), e.clientX - r.left, e.clientY - r.top);
  };
  svg.onpointerdown = e => drag = {x: e.clientX, y: e.clientY, moved: false};
  window.addEventListener('pointermove', e => {
    if (!drag || !e.buttons) return;
    if (Math.abs(e.clientX - drag.x) + Math.abs(e.clientY - drag.y) < 4 && !drag.moved) return;
    state.x += e.clientX - drag.x, state.y += e.clientY - drag.y, drag = {x: e.clientX, y: e.clientY, moved: true};
    $('view').setAttribute('transform', `translate(${state.x} ${state.y}) scale(${state.k})`);
  });
  window.addEventListener('pointerup', () => { if (drag && drag.moved) keepAddress(); });
  svg.onclick = e => {
    const g = e.target.closest('.box');
    if (drag && drag.moved) return drag = null;
    g ? act(+g.dataset.id) : select(null);
  };
  const test = location.hash == '#test';
  readAddress();
  window.addEventListener('hashchange', readAddress);
  if (test) checkPage();
}
