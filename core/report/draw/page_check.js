// The page's own checks, run by scripts/draw-check at page.html#test: a line PASS or FAIL each, in the element #test.
function checkPage() {
  const told = [], check = (name, ok) => told.push((ok ? 'PASS ' : 'FAIL ') + name);
  const key = (target, k) => target.dispatchEvent(new KeyboardEvent('keydown', {key: k, bubbles: true, cancelable: true}));
  const box = id => $('view').querySelector(`[data-id="${id}"]`), all = () => [...$('view').querySelectorAll('.box')];
  const light = c => { const [r, g, b] = c.match(/[\d.]+/g).map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + .05) / (y + .05); };
  const disjoint = () => {
    for (const a of boxes.values()) for (const b of boxes.values()) {
      if (a.s == b.s && a.id != b.id && a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h) return false;
    }
    return [...boxes.values()].every(b => b.s == 0 || (f => b.x >= f.left - .01 && b.y >= f.up && b.x + b.w <= f.left + f.width + .01 && b.y + b.h <= f.up + f.height)(frames.get(b.s)));
  };
  const down = () => lines.every(l => l.spots.every((p, i) => i == 0 || p[1] >= l.spots[i - 1][1] - .01) && l.back == (boxes.get(l.from).y > boxes.get(l.to).y && l.back));

  check('something is drawn, and not too much', boxes.size > 0 && boxes.size <= MOST && all().length == boxes.size);
  check('boxes have roles and names', all().every(g => g.getAttribute('role') == 'button' && g.getAttribute('aria-label')));
  check('one box can be tabbed to', all().filter(g => g.getAttribute('tabindex') == '0').length == 1);
  check('boxes do not overlap', disjoint());
  check('edges go down', down());
  let closed = true, opened = true, apart = true;
  for (let s = 1; s < Math.min(S.length, 16); ++s) {
    open(s), draw();
    opened = opened && visible(s) && boxes.has(S[s].k[0]) && boxes.size <= MOST;
    apart = apart && disjoint() && down();
  }
  check('scopes open', opened);
  check('open scopes keep apart, and edges go down', apart);
  state.open.clear(), draw();
  const inside = s => D.copies.filter(c => [c.node, ...c.readers].filter(i => i >= S[s].a && i < S[s].e).length > 1 && c.node >= S[s].a && c.node < S[s].e);
  check('a closed scope tells the copies in it', [...boxes.values()].every(({id, h}) => {
    const there = id < 0 ? inside(-id).length : 0, text = box(id).textContent;
    return there ? text.includes(there + (there == 1 ? ' copy' : ' copies') + ' inside') && h > H && box(id).classList.contains('holds') : !text.includes(' inside, ');
  }));
  const scope = S.findIndex((x, s) => s > 0 && x.p == 0);
  if (scope > 0) {
    box(-scope).dispatchEvent(new MouseEvent('click', {bubbles: true}));
    opened = isOpen(-scope) && box(-scope).getAttribute('aria-expanded') == 'true';
    box(-scope).focus(), key(document.activeElement, 'Enter');
    closed = !isOpen(-scope) && box(-scope).getAttribute('aria-expanded') == 'false';
  }
  check('a click opens a scope', opened);
  check('Enter closes it', closed);
  const last = N - 1;
  key(document.body, '/');
  check('/ goes to the search', document.activeElement == $('search'));
  $('search').value = nodeName(last), $('search').oninput();
  check('search finds a name first', $('found').firstChild && +$('found').firstChild.dataset.node == last && $('search').getAttribute('aria-expanded') == 'true');
  key($('search'), 'Enter');
  check('Enter selects it and shows it', state.at === last && box(last) && box(last).classList.contains('at') && document.activeElement == box(last));
  check('its device and reason are told', $('panel').textContent.includes(D.devices[D.device[last]].name) && $('panel').textContent.includes(t('reason', last)));
  check('a size that nobody knows is no number', D.copies.every((c, k) => c.bytes !== null || bytesOf([k]) == 'size unknown'));
  check('what is found by op and by reason', search(t('op', last)).includes(last) && search(t('reason', last)).includes(last));
  check('the address keeps the node', location.hash.includes('node=' + encodeURIComponent(nodeName(last))));
  const hash = location.hash, was = [...state.open].sort().join();
  select(null), state.open.clear(), draw(), history.replaceState(null, '', hash), readAddress();
  check('the address brings it back', state.at === last && boxes.has(last) && [...state.open].sort().join() == was);
  const before = state.color;
  key(document.body, 'c');
  check('c changes the colour', state.color != before && $('color').value == state.color && location.hash.includes('color=' + state.color));
  $('color').value = 'device', $('color').onchange();
  check('a letter beside each colour', all().every(g => g.classList.contains('open') || g.querySelector('.badge').textContent));
  const from = [...boxes.values()].find(b => neighbour(b.id, 'ArrowDown') !== null);
  if (from) focusBox(from.id), key(document.activeElement, 'ArrowDown');
  check('arrow keys go from box to box', !from || +document.activeElement.dataset.id == neighbour(from.id, 'ArrowDown'));
  key(document.activeElement, 'Escape');
  check('Esc selects nothing, and the copies are listed', state.at === null && $('panel').querySelectorAll('table').length >= (D.copies.length ? 2 : 1));
  if (D.copies.length) {
    select(D.copies[0].node, 0);
    check('a copy of the list selects its edges', $('view').querySelector('.copy.at') != null);
    select(null);
  }
  for (const mode of ['light', 'dark']) {
    state.theme = mode, theme();
    const paint = e => getComputedStyle(e).fill, pairs = all().filter(g => !g.classList.contains('open')).map(g => contrast(paint(g.querySelector('rect')), paint(g.querySelector('text'))));
    for (const e of document.querySelectorAll('header, #panel, .key, footer, button.link, dt')) {
      let under = e;
      while (/rgba\(0, 0, 0, 0\)/.test(getComputedStyle(under).backgroundColor) && under.parentElement) under = under.parentElement;
      pairs.push(contrast(getComputedStyle(under).backgroundColor, getComputedStyle(e).color));
    }
    check('contrast is 4.5:1, ' + mode, pairs.every(c => c >= 4.5));
  }
  state.theme = 'auto', theme();
  check('names are data', !$('view').querySelector('b, script, img') && !$('panel').querySelector('b, script, img') && !$('found').querySelector('b, script, img'));
  check('nothing comes from the network', performance.getEntriesByType('resource').length == 0);
  const failed = told.filter(l => l.startsWith('FAIL')).length;
  document.body.append(make('pre', {id: 'test'}, told.join('\n') + `\n${told.length - failed} passed, ${failed} failed\n`));
}
