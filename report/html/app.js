// The page of a report: reads the JSON that a dfsim command printed and shows it. No number is
// computed here that the JSON already holds.
(function () {
  'use strict';
  // Okabe and Ito's palette: colour-blind people tell it apart.
  const COLOURS = ['#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9', '#8a8a8a'];
  const MAX_RECTS = 4000; // per drawing of the timeline; shorter neighbours are drawn as one
  const MAX_ROWS = 500, LONG_NAME = 120;
  const MAX_DEPTH = 11; // lanes of a track below its first
  const MAX_NODES = 3000; // of the drawing of a network
  // A drawing by itself follows the system's preference; on a page, the page's theme decides (style.css).
  const drawingSource = svg => 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(svg.replace(/<style>[^]*?<\/style>\n?/, ''));
  const data = JSON.parse(document.getElementById('data').textContent);
  const main = document.getElementById('main');
  const charts = [];

  function element(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key === 'text') node.textContent = value;
      else if (key === 'class') node.className = value;
      else node.setAttribute(key, value);
    }
    node.append(...children);
    return node;
  }
  function section(title, note) {
    const node = element('section', { 'aria-label': title }, element('h2', { text: title }));
    if (note) node.append(element('p', { class: 'note', text: note }));
    main.append(node);
    return node;
  }
  function digits(value) {
    return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
  }
  function time(us) {
    const size = Math.abs(us);
    if (size >= 1e6) return digits(us / 1e6) + ' s';
    if (size >= 1e3) return digits(us / 1e3) + ' ms';
    if (size >= 1) return digits(us) + ' us';
    return us === 0 ? '0' : (us * 1e3).toFixed(0) + ' ns';
  }
  // A mark of a time axis, with the digits that tell it from marks `step` away.
  function tick(us, step) {
    const size = Math.abs(us);
    const [unit, name] = size >= 1e6 ? [1e6, ' s'] : size >= 1e3 ? [1e3, ' ms'] : [1, ' us'];
    const decimals = Math.min(6, Math.max(0, Math.ceil(-Math.log10(step / unit))));
    return size < step / 10 ? '0' : (us / unit).toFixed(decimals) + name;
  }
  function scaled(value, unit) {
    for (const [factor, prefix] of [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']]) {
      if (Math.abs(value) >= factor) return digits(value / factor) + ' ' + prefix + unit;
    }
    return digits(value) + ' ' + unit;
  }
  const bytes = value => scaled(value, 'B');
  const percent = value => (value * 100).toFixed(1) + ' %';
  function escapeHtml(text) {
    return String(text).replace(/[&<>"]/g, c => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);
  }
  // Names of tracks begin alike and end in a number: "mea\u2026 stream 7".
  function ends(text, length) {
    return text.length > length ? text.slice(0, 3) + '\u2026' + text.slice(4 - length) : text;
  }
  function short(text, length) {
    return text.length > length ? text.slice(0, length - 1) + '\u2026' : text;
  }

  // Charts are made again when the theme changes, as text and lines are drawn into them.
  function chart(parent, height, label, options, ready) {
    const node = element('div', { class: 'chart', role: 'img', 'aria-label': label });
    node.style.height = height + 'px';
    parent.append(node);
    const entry = { node, options, ready, instance: null };
    charts.push(entry);
    return entry;
  }
  function dark() { return document.documentElement.dataset.theme === 'dark'; }
  function base() {
    const fg = dark() ? '#ececec' : '#1a1a1a', line = dark() ? '#363a42' : '#d5d5d5';
    return {
      fg, line,
      axis: { axisLabel: { color: fg }, axisLine: { lineStyle: { color: line } }, splitLine: { lineStyle: { color: line } }, nameTextStyle: { color: fg } },
      tooltip: { confine: true, backgroundColor: dark() ? '#1e2127' : '#fff', borderColor: line, textStyle: { color: fg } },
      legend: { textStyle: { color: fg }, type: 'scroll' }
    };
  }
  function draw() {
    for (const entry of charts) {
      if (entry.instance) entry.instance.dispose();
      entry.instance = echarts.init(entry.node);
      entry.instance.setOption(Object.assign({ animation: false, color: COLOURS, aria: { enabled: false } }, entry.options(base())));
      if (entry.ready) entry.ready(entry.instance, entry.node);
    }
  }

  // What a result says of itself before anything else: it is of a part of the model, or a limit.
  // An image, not part of the page: nothing in it can run. On a narrow screen it scrolls, as its words
  // would be too small.
  function picture(drawing, alt) {
    return element('div', { class: 'drawingbox', tabindex: '0', role: 'region', 'aria-label': 'Drawing' }, element('img', { src: drawingSource(drawing), alt, class: 'drawing' }));
  }
  function warn(text) { main.append(element('p', { class: 'warning', role: 'alert', text })); }
  function showLimits(d) {
    if (d.complete === false) {
      const u = d.unknown_work || {}, f = u.first;
      warn('Incomplete: the work of ' + u.ops + ' of ' + u.of + ' operators is not known' + (f ? ', because of ' + f.op_type + ' \u2018' + f.name + '\u2019: ' + f.reason : '') + '. Every time is a lower limit.');
    } else if (d.is_limit) warn(percent(d.bound_only_fraction) + ' of the time is bound-only: the time is a lower limit, not an estimate.');
  }
  const least = d => d.complete === false ? 'at least ' : d.is_limit ? '\u2265 ' : '';
  const either = (...values) => values.find(v => typeof v === 'number');

  function showCards(cards) {
    const box = element('div', { class: 'cards' });
    for (const [label, value, more] of cards) {
      box.append(element('div', { class: 'card' }, element('div', { class: 'label', text: label }),
        element('div', { class: 'value', text: value }), element('div', { class: 'more', text: more || '' })));
    }
    const node = section('Summary');
    node.append(box);
  }

  // columns: [title, format or null for text]; rows: arrays of raw values.
  function showTable(title, columns, rows, note) {
    if (!rows.length) return;
    const node = section(title, note);
    const filter = element('input', { type: 'search', placeholder: 'Filter', 'aria-label': 'Filter ' + title });
    const count = element('span', { class: 'note', role: 'status' });
    const head = element('tr'), body = element('tbody');
    body.addEventListener('click', event => { if (event.target.classList.contains('long')) event.target.classList.toggle('whole'); });
    let key = -1, down = true;
    function fill() {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      let found = rows.filter(row => words.every(word => row.some(cell => String(cell).toLowerCase().includes(word))));
      if (key >= 0) {
        const sign = down ? -1 : 1;
        found = found.map((row, i) => [row, i]).sort((a, b) => {
          const x = a[0][key], y = b[0][key];
          return (typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y))) * sign || a[1] - b[1];
        }).map(pair => pair[0]);
      }
      count.textContent = found.length + ' of ' + rows.length + ' rows' + (found.length > MAX_ROWS ? ', the first ' + MAX_ROWS + ' shown' : '');
      body.replaceChildren(...found.slice(0, MAX_ROWS).map(row => element('tr', {}, ...row.map((cell, c) => {
        const format = columns[c][1];
        const text = format && typeof cell === 'number' ? format(cell) : String(cell);
        // Names of templates fill a screen: three lines of them show, a click shows the rest.
        return c === 0 && text.length > LONG_NAME
          ? element('td', { title: text }, element('div', { class: 'long', text }))
          : element('td', { class: format ? 'num' : '', text, title: String(cell) });
      }))));
      [...head.children].forEach((th, c) => th.setAttribute('aria-sort', c !== key ? 'none' : down ? 'descending' : 'ascending'));
    }
    columns.forEach(([name, format], c) => {
      const th = element('th', { class: format ? 'num' : '', text: name, tabindex: '0', scope: 'col' });
      const sort = () => { down = key === c ? !down : !!format; key = c; fill(); };
      th.addEventListener('click', sort);
      th.addEventListener('keydown', event => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); sort(); } });
      head.append(th);
    });
    filter.addEventListener('input', fill);
    node.append(element('div', { class: 'bar' }, filter, count),
      element('div', { class: 'tablebox', tabindex: '0', role: 'region', 'aria-label': title + ', table' }, element('table', {}, element('thead', {}, head), body)));
    fill();
  }

  function showBars(parent, title, items, format, most) {
    if (!items.length) return;
    const box = element('section', { 'aria-label': title }, element('h2', { text: title }));
    parent.append(box);
    const shown = items.slice(0, most || 14);
    chart(box, 60 + shown.length * 26, title, b => ({
      tooltip: Object.assign({ formatter: p => escapeHtml(p.name) + ': ' + format(p.value) }, b.tooltip),
      grid: { left: 8, right: 80, top: 8, bottom: 24, containLabel: true },
      xAxis: Object.assign({ type: 'value' }, b.axis, { axisLabel: { color: b.fg, formatter: v => format(v), hideOverlap: true }, splitNumber: 4 }),
      yAxis: Object.assign({ type: 'category', inverse: true, data: shown.map(i => short(i[0], 34)) }, b.axis),
      series: [{ type: 'bar', data: shown.map((i, n) => ({ value: i[1], itemStyle: { color: COLOURS[(i[2] === undefined ? n : i[2]) % COLOURS.length] } })), label: { show: true, position: 'right', color: b.fg, formatter: p => format(p.value) } }]
    }));
  }

  // Slices of a track that lie inside others get lanes of their own below them: returns the lane of
  // each span, and the first lane of each track.
  function nest(tracks, spans) {
    const open = tracks.map(() => []), deepest = tracks.map(() => 0), depth = new Array(spans.length);
    const order = spans.map((s, i) => i).sort((a, b) => spans[a].start - spans[b].start || spans[b].end - spans[a].end || a - b);
    for (const i of order) {
      const ends = open[spans[i].track], slack = 1e-6 * Math.max(1, Math.abs(spans[i].start));
      while (ends.length && ends[ends.length - 1] <= spans[i].start + slack) ends.pop();
      depth[i] = Math.min(ends.length, MAX_DEPTH);
      ends.push(spans[i].end);
      deepest[spans[i].track] = Math.max(deepest[spans[i].track], depth[i]);
    }
    const first = [];
    let lanes = 0;
    for (const d of deepest) { first.push(lanes); lanes += d + 1; }
    return { lane: spans.map((s, i) => first[s.track] + depth[i]), first, lanes };
  }

  // What takes the time between two moments, by name: a table below the timeline.
  function showArea(node) {
    const caption = element('caption', { role: 'status' }), body = element('tbody');
    const header = element('tr', {}, ...[['name', ''], ['slices', 'num'], ['time in view', 'num'], ['of the view', 'num']].map(([text, kind]) => element('th', { text, class: kind, scope: 'col' })));
    node.append(element('div', { class: 'tablebox inview', tabindex: '0', role: 'region', 'aria-label': 'What is in view' }, element('table', {}, caption, element('thead', {}, header), body)));
    return (spans, from, to) => {
      const found = new Map();
      let slices = 0;
      for (const span of spans) {
        const part = Math.min(span.end, to) - Math.max(span.start, from);
        if (span.end < from || span.start > to) continue;
        const one = found.get(span.name) || { count: 0, us: 0 };
        one.count++; one.us += Math.max(0, part); slices++;
        found.set(span.name, one);
      }
      const top = [...found].sort((a, b) => b[1].us - a[1].us).slice(0, 8);
      caption.textContent = 'In view: ' + time(to - from) + ', ' + slices + ' slices, ' + found.size + ' names; the longest:';
      body.replaceChildren(...top.map(([name, one]) => element('tr', {}, element('td', { text: name, title: name }), element('td', { class: 'num', text: String(one.count) }), element('td', { class: 'num', text: time(one.us) }), element('td', { class: 'num', text: percent(one.us / (to - from)) }))));
    };
  }

  // tracks: names; spans sorted by start: {track, start, end, name, group, mark, info}.
  function showTimeline(tracks, recorded, groups, note) {
    if (!recorded.length) return;
    // From the first one on, so that the axis has round marks.
    const begin = recorded.reduce((a, s) => Math.min(a, s.start), Infinity);
    const spans = recorded.map(s => Object.assign({}, s, { start: s.start - begin, end: s.end - begin }));
    const node = section('Timeline', (note ? note + ' ' : '') + 'Scroll or drag to move, + and - to zoom, arrow keys to move when it has the focus; an edge marks the critical path. Slices inside others lie below them.');
    const high = spans.reduce((a, s) => Math.max(a, s.end), 0), nested = nest(tracks, spans);
    const rows = Array.from({ length: nested.lanes }, () => []);
    spans.forEach((span, i) => rows[nested.lane[i]].push(span));
    let words = [];
    const matches = span => words.every(word => span.name.toLowerCase().includes(word));
    // Level of detail: what is narrower than a pixel is joined with its neighbours.
    function visible(from, to, width) {
      const pixel = (to - from) / Math.max(width, 100);
      const out = [];
      rows.forEach((row, lane) => {
        let joined = null;
        const flush = () => { if (joined) { out.push(joined); joined = null; } };
        for (const span of row) {
          if (span.end < from || span.start > to) continue;
          const hit = !words.length || matches(span);
          if (span.end - span.start >= 2 * pixel) { flush(); out.push({ span, lane, start: span.start, end: span.end, many: 1, hit }); continue; }
          if (joined && span.start - joined.end < pixel && joined.end - joined.start < 40 * pixel) {
            joined.end = Math.max(joined.end, span.end); joined.many++;
            joined.mark = joined.mark || span.mark;
            joined.hit = joined.hit || hit;
          } else { flush(); joined = { span, lane, start: span.start, end: span.end, many: 1, mark: span.mark, hit }; }
        }
        flush();
      });
      if (out.length > MAX_RECTS) out.sort((a, b) => (b.end - b.start) - (a.end - a.start)).length = MAX_RECTS;
      return out;
    }
    // Words in the colour of text, as the palette's own colours are too pale for words.
    const legend = element('div', { class: 'bar legend' }, ...groups.map((g, i) => {
      const dot = element('span', { class: 'swatch', 'aria-hidden': 'true' });
      dot.style.background = COLOURS[i % COLOURS.length];
      return element('span', {}, dot, g);
    }));
    const search = element('input', { type: 'search', placeholder: 'Search slices', 'aria-label': 'Search the timeline' });
    const found = element('span', { class: 'note', role: 'status' });
    node.append(legend);
    const names = Array.from({ length: nested.lanes }, () => '');
    tracks.forEach((t, i) => { names[nested.first[i]] = t; });
    let shownTime = high, redraw = () => {}, goTo = () => {};
    const entry = chart(node, Math.min(120 + tracks.length * 12 + nested.lanes * 22, 900), 'Timeline of ' + spans.length + ' slices on ' + tracks.length + ' tracks; the longest: ' + short(spans.reduce((a, s) => s.end - s.start > a.end - a.start ? s : a).name, 60), b => ({
      tooltip: Object.assign({ formatter: p => {
        const rect = p.data.rect;
        return rect.many > 1 ? rect.many + ' short spans in ' + time(rect.end - rect.start)
          : '<b>' + escapeHtml(short(rect.span.name, 90)) + '</b><br>' + time(rect.span.end - rect.span.start) + ' at ' + time(rect.span.start) + (rect.span.info ? '<br>' + escapeHtml(rect.span.info) : '');
      } }, b.tooltip),
      grid: { left: 8, right: 16, top: 8, bottom: 64, containLabel: true },
      xAxis: Object.assign({ type: 'value', min: 0, max: high }, b.axis, { axisLabel: { color: b.fg, hideOverlap: true, showMaxLabel: false, formatter: v => tick(v, shownTime / 10) } }),
      yAxis: Object.assign({ type: 'category', inverse: true, data: names.map(t => ends(t, innerWidth < 700 ? 14 : 28)), axisTick: { show: false } }, b.axis, { axisLabel: { color: b.fg, interval: 0 } }),
      dataZoom: [{ type: 'inside', filterMode: 'none' }, { type: 'slider', filterMode: 'none', bottom: 8, height: 24, labelFormatter: time, textStyle: { color: b.fg } }],
      series: [{ id: 'spans', type: 'custom', encode: { x: [1, 2], y: 0 }, data: [], clip: true, renderItem: (params, api) => {
        const start = api.coord([api.value(1), api.value(0)]), end = api.coord([api.value(2), api.value(0)]);
        const height = Math.min(api.size([0, 1])[1] * 0.8, 24), cs = params.coordSys;
        const x = Math.max(start[0], cs.x), right = Math.min(end[0], cs.x + cs.width);
        if (right < cs.x || x > cs.x + cs.width) return null;
        return { type: 'rect', shape: { x, y: start[1] - height / 2, width: Math.max(right - x, 0.7), height }, style: { fill: api.visual('color'), opacity: api.value(4) ? 1 : 0.15, stroke: api.value(3) ? b.fg : undefined, lineWidth: api.value(3) ? 1.2 : 0 } };
      } }]
    }), (instance, box) => {
      let pending = false;
      function range() { const zoom = instance.getOption().dataZoom[0]; return [high * zoom.start / 100, high * zoom.end / 100]; }
      function refresh() {
        pending = false;
        const [from, to] = range();
        shownTime = to - from;
        const rects = visible(from, to, box.clientWidth);
        box.dataset.shown = String(rects.length);
        box.dataset.lanes = String(nested.lanes);
        instance.setOption({ series: [{ id: 'spans', data: rects.map(rect => ({ value: [rect.lane, rect.start, rect.end, (rect.mark || rect.span.mark) ? 1 : 0, rect.hit ? 1 : 0], rect, itemStyle: { color: COLOURS[rect.span.group % COLOURS.length] } })) }] });
        area(spans, from, to);
      }
      redraw = refresh;
      goTo = (from, to) => instance.dispatchAction({ type: 'dataZoom', start: 100 * Math.max(0, from) / high, end: 100 * Math.min(high, to) / high });
      instance.on('datazoom', () => { if (!pending) { pending = true; requestAnimationFrame(refresh); } });
      function move(factor, shift) {
        const zoom = instance.getOption().dataZoom[0], size = zoom.end - zoom.start;
        const next = Math.min(100, Math.max(0.001, size * factor)), middle = (zoom.start + zoom.end) / 2 + shift * size;
        const start = Math.min(Math.max(middle - next / 2, 0), 100 - next);
        instance.dispatchAction({ type: 'dataZoom', start, end: start + next });
      }
      box.tabIndex = 0;
      box.onkeydown = event => {
        const step = { '+': [0.5, 0], '=': [0.5, 0], '-': [2, 0], ArrowLeft: [1, -0.25], ArrowRight: [1, 0.25], Home: [1000, 0] }[event.key];
        if (step) { event.preventDefault(); move(...step); }
      };
      refresh();
    });
    const buttons = [['Zoom in', '+'], ['Zoom out', '-'], ['All', 'Home']].map(([text, key]) => {
      const button = element('button', { type: 'button', text });
      button.addEventListener('click', () => entry.node.dispatchEvent(new KeyboardEvent('keydown', { key })));
      return button;
    });
    let next = 0;
    search.addEventListener('input', () => {
      words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      next = 0;
      const hits = words.length ? spans.filter(matches) : [];
      found.textContent = words.length ? hits.length + ' slices, ' + time(hits.reduce((a, s) => a + s.end - s.start, 0)) + ' in all; Enter goes to the next' : '';
      redraw();
    });
    search.addEventListener('keydown', event => {
      const hits = event.key === 'Enter' && words.length ? spans.filter(matches) : [];
      if (!hits.length) return;
      const hit = hits[next++ % hits.length], margin = Math.max(10 * (hit.end - hit.start), high / 200);
      goTo(hit.start - margin, hit.end + margin);
    });
    node.insertBefore(element('div', { class: 'bar' }, ...buttons, search, found), entry.node);
    const area = showArea(node);
  }

  function showRoofline(roofline, lines, swept) {
    const node = section('Roofline', 'Peaks: ' + roofline.peaks_from + '. A point\u2019s area is its share of the time.' + (lines.length ? ' Diamonds are the sweep over ' + swept + ', each with its value.' : '') +
      (roofline.above_roof.ops ? ' ' + roofline.above_roof.ops + ' operators lie above the roof; the bytes of ' + roofline.above_roof.in_cache + ' of them fit into the cache.' : ''));
    const points = roofline.ops.filter(p => p.flops > 0 && p.bytes > 0 && p.time_us > 0);
    const all = points.concat(...lines.map(l => l.points)).filter(p => p.intensity > 0);
    if (!all.length) return;
    const classes = roofline.classes.map(c => c.name);
    chart(node, 460, 'Roofline of ' + roofline.model, b => {
      const top = Math.max(...roofline.roofs.map(r => r.flops_per_s)), bandwidth = roofline.memory_bytes_per_s;
      const left = Math.pow(10, Math.floor(Math.log10(Math.min(...all.map(p => p.intensity)))));
      const right = Math.pow(10, Math.ceil(Math.log10(Math.max(10 * top / bandwidth, ...all.map(p => p.intensity)))));
      const bottom = Math.pow(10, Math.floor(Math.log10(Math.max(top * 1e-7, Math.min(...all.map(p => p.flops_per_s))))));
      const seen = new Set();
      const roofs = roofline.roofs.filter(r => !seen.has(r.flops_per_s) && seen.add(r.flops_per_s)).map(r => ({ name: r.dtype + (r.matrix ? ' matrix' : '') + ' ' + scaled(r.flops_per_s, 'FLOP/s'), type: 'line', symbol: 'none', silent: true,
        lineStyle: { color: b.fg, width: 1.5 }, endLabel: { show: true, color: b.fg, formatter: '{a}', offset: [-190, -9] }, data: [[Math.max(left, bottom / bandwidth), Math.max(left, bottom / bandwidth) * bandwidth], [r.flops_per_s / bandwidth, r.flops_per_s], [right, r.flops_per_s]] }));
      (roofline.caches || []).forEach(c => roofs.push({ name: c.name, type: 'line', symbol: 'none', silent: true, lineStyle: { color: b.fg, width: 1, type: 'dashed' },
        endLabel: { show: true, color: b.fg, formatter: '{a}', offset: [-24, 12] }, data: [[Math.max(left, bottom / c.bytes_per_s), Math.max(left, bottom / c.bytes_per_s) * c.bytes_per_s], [top / c.bytes_per_s, top]].filter(q => q[0] >= left) }));
      const clouds = classes.map((name, i) => ({ name, type: 'scatter', itemStyle: { color: COLOURS[i % COLOURS.length], opacity: lines.length ? 0.35 : 0.6 },
        data: points.filter(p => p.class === name).map(p => ({ value: [p.intensity, Math.max(p.flops_per_s, bottom)], point: p, symbolSize: 5 + 44 * Math.sqrt(p.share) })) }));
      const paths = lines.map(l => ({ name: l.name, type: 'line', symbolSize: 8, lineStyle: { width: (l.of || l.name) === 'network' ? 3 : 1.5 },
        color: (l.of || l.name) === 'network' ? b.fg : COLOURS[Math.max(0, classes.indexOf(l.of || l.name)) % COLOURS.length], symbol: 'diamond',
        label: { show: true, position: (l.of || l.name) === 'network' ? 'top' : 'right', color: b.fg, formatter: q => q.data.step }, labelLayout: { hideOverlap: true }, data: l.points.map((p, k) => [p, k]).filter(q => q[0].intensity > 0).map(([p, k]) => ({ value: [p.intensity, p.flops_per_s], point: p, step: l.values ? l.values[k] : l.steps.length ? String(k ? l.steps[k - 1].to : l.steps[0].from) : '' })) }));
      return {
        legend: Object.assign({ data: [...new Set(lines.map(l => l.name).concat(classes))], top: 0 }, b.legend),
        tooltip: Object.assign({ formatter: q => { const p = q.data.point; return p ? '<b>' + escapeHtml(short(p.name, 60)) + '</b><br>' + p.intensity.toPrecision(3) + ' FLOP/B, ' + scaled(p.flops_per_s, 'FLOP/s') + '<br>' + (p.efficiency === null ? '' : percent(p.efficiency) + ' of its roof, ') + percent(p.share) + ' of the time<br>bound: ' + p.bound + ', time ' + p.source : ''; } }, b.tooltip),
        grid: { left: 16, right: 24, top: 48, bottom: 44, containLabel: true },
        xAxis: Object.assign({ type: 'log', min: left, max: right, name: 'FLOP per byte', nameLocation: 'middle', nameGap: 28 }, b.axis),
        yAxis: Object.assign({ type: 'log', min: bottom, max: Math.pow(10, Math.ceil(Math.log10(top) + 0.05)), name: 'FLOP/s' }, b.axis, { axisLabel: { color: b.fg, formatter: v => scaled(v, '') } }),
        series: roofs.concat(clouds, paths)
      };
    });
  }

  // The time-based roofline: what the memory and the arithmetic would need alone, and the time.
  function showFloors(roofline) {
    const points = roofline.ops.filter(p => p.compute_us > 0 && p.memory_us > 0);
    if (!points.length) return;
    const node = section('Time-based roofline', 'Where each operator\u2019s least time lies: right of the line its bytes need longer than its FLOPs. A point\u2019s area is its share of the time.');
    const classes = roofline.classes.map(c => c.name), axis = points.flatMap(p => [p.compute_us, p.memory_us]);
    const low = Math.pow(10, Math.floor(Math.log10(Math.min(...axis)))), high = Math.pow(10, Math.ceil(Math.log10(Math.max(...axis))));
    chart(node, 380, 'Time-based roofline of ' + roofline.model, b => ({
      legend: Object.assign({ data: classes, top: 0 }, b.legend),
      tooltip: Object.assign({ formatter: q => { const p = q.data.point; return p ? '<b>' + escapeHtml(short(p.name, 60)) + '</b><br>arithmetic ' + time(p.compute_us) + ', memory ' + time(p.memory_us) + ', launch ' + time(p.launch_us) + '<br>takes ' + time(p.time_us) : ''; } }, b.tooltip),
      grid: { left: 16, right: 24, top: 48, bottom: 44, containLabel: true },
      xAxis: Object.assign({ type: 'log', min: low, max: high, name: 'time for the bytes', nameLocation: 'middle', nameGap: 28 }, b.axis, { axisLabel: { color: b.fg, formatter: time, hideOverlap: true } }),
      yAxis: Object.assign({ type: 'log', min: low, max: high, name: 'time for the FLOPs' }, b.axis, { axisLabel: { color: b.fg, formatter: time, hideOverlap: true } }),
      series: [{ type: 'line', symbol: 'none', silent: true, lineStyle: { color: b.fg, width: 1 }, data: [[low, low], [high, high]] }].concat(classes.map((name, i) => ({ name, type: 'scatter', itemStyle: { color: COLOURS[i % COLOURS.length], opacity: 0.6 },
        data: points.filter(p => p.class === name).map(p => ({ value: [p.memory_us, p.compute_us], point: p, symbolSize: 5 + 44 * Math.sqrt(p.share) })) })))
    }));
  }

  function showAdvice(advice, run) {
    if (!advice) return;
    const node = section('Advice', advice.list.length ? 'Each impact is simulated: the ' + run + ' run, and the run with this one change. Changes that bring less than ' + time(advice.width_us) + ', which 80 % of repeated runs spread over, are left out.'
      : 'None: no change that was tried brings more than ' + time(advice.width_us) + '.');
    for (const a of advice.list) {
      node.append(element('div', { class: 'advice', 'data-kind': a.kind }, element('div', { class: 'impact', text: '\u2212' + percent(a.gain) }),
        element('div', {}, element('p', { text: a.insight }), element('p', {}, element('strong', { text: a.action })), element('p', { class: 'note', text: time(a.after_us) + ' instead of ' + time(a.before_us) + ' (simulated)' }))));
    }
  }

  function showMemory(memory) {
    memory.filter(m => m.timeline.length > 1).forEach(m => {
      const where = typeof m.device === 'string' ? m.device : m.device < 0 ? 'host' : 'device ' + m.device;
      const node = section('Memory of the ' + where, 'Peak ' + bytes(m.peak_bytes) + ' at ' + time(m.peak_us) + (m.reserved_bytes > 0 ? ', ' + bytes(m.reserved_bytes) + ' reserved then' : '') + '.');
      chart(node, 240, 'Memory in use of the ' + where, b => ({
        tooltip: Object.assign({ trigger: 'axis', formatter: p => time(p[0].value[0]) + ': ' + bytes(p[0].value[1]) }, b.tooltip),
        grid: { left: 16, right: 24, top: 12, bottom: 30, containLabel: true },
        xAxis: Object.assign({ type: 'value', min: 'dataMin', max: 'dataMax' }, b.axis, { axisLabel: { color: b.fg, formatter: time, hideOverlap: true } }),
        yAxis: Object.assign({ type: 'value' }, b.axis, { axisLabel: { color: b.fg, formatter: bytes } }),
        series: [{ type: 'line', step: 'end', symbol: 'none', areaStyle: { opacity: 0.25 }, data: m.timeline }]
      }));
      showTable('Tensors at the peak of the ' + where, [['of', null], ['use', null], ['bytes', bytes], ['since', time]], m.at_peak.map(t => [t.name || t.allocated_by || '(outside any operator)', t.use || 'tensor', t.bytes, t.since_us]));
    });
  }

  function head(title, subtitle) {
    document.title = title + ' - dfsim';
    document.getElementById('title').textContent = title;
    document.getElementById('subtitle').textContent = subtitle;
  }

  // The network as boxes, in layers from its inputs down, each with a bar whose colour and length say
  // how long the operator takes.
  function showGraph(all) {
    const ops = all.slice(0, MAX_NODES);
    if (!ops.length || !ops[0].reads) return;
    const SVG = 'http://www.w3.org/2000/svg', WIDTH = 190, HEIGHT = 34, GAP = 16, STEP = 58;
    const make = (tag, attributes, text) => {
      const made = document.createElementNS(SVG, tag);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      if (text) made.textContent = text;
      return made;
    };
    const node = section('Network', 'Arrows lead from an operator to those that read its result. Drag to move, scroll to zoom; arrow keys, + and - when it has the focus. The longer and redder its bar, the longer an operator takes.' + (all.length > ops.length ? ' The first ' + ops.length + ' of ' + all.length + ' operators.' : ''));
    const longest = Math.max(...ops.map(op => op.duration_us), 1e-9), total = ops.reduce((a, op) => a + op.duration_us, 0) || 1;
    const layer = [], rows = [], x = [];
    ops.forEach((op, i) => {
      layer[i] = op.reads.reduce((a, r) => r < i ? Math.max(a, layer[r] + 1) : a, 0);
      (rows[layer[i]] = rows[layer[i]] || []).push(i);
    });
    // Below the middle of what they read, as far as there is room.
    rows.forEach(row => {
      const wish = i => { const known = ops[i].reads.filter(r => x[r] !== undefined); return known.length ? known.reduce((a, r) => a + x[r], 0) / known.length : 0; };
      const placed = row.map(i => [wish(i), i]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
      const middle = placed.reduce((a, p) => a + p[0], 0) / placed.length;
      let edge = -Infinity;
      placed.forEach(p => { edge = Math.max(p[0], edge + WIDTH + GAP); p[0] = edge; });
      const shift = middle - placed.reduce((a, p) => a + p[0], 0) / placed.length;
      placed.forEach(([at, i]) => { x[i] = at + shift; });
    });
    const left = Math.min(...x) - WIDTH / 2 - GAP, right = Math.max(...x) + WIDTH / 2 + GAP, bottom = rows.length * STEP + GAP;
    const drawing = make('svg', { class: 'graph', tabindex: '0', role: 'img', 'aria-label': 'Network of ' + ops.length + ' operators in ' + rows.length + ' layers; the longest takes ' + time(longest) });
    const y = i => layer[i] * STEP + GAP;
    ops.forEach((op, i) => op.reads.forEach(r => {
      if (r < ops.length) drawing.append(make('path', { class: 'edge', d: 'M' + x[r].toFixed(1) + ' ' + (y(r) + HEIGHT) + 'C' + x[r].toFixed(1) + ' ' + (y(r) + STEP) + ' ' + x[i].toFixed(1) + ' ' + (y(i) - STEP + HEIGHT) + ' ' + x[i].toFixed(1) + ' ' + y(i) }));
    }));
    // From the palette's blue over its yellow to its vermilion.
    const colour = share => share < 0.05 ? '#56B4E9' : share < 0.2 ? '#009E73' : share < 0.5 ? '#E69F00' : '#D55E00';
    const groups = ops.map((op, i) => {
      const group = make('g', { class: 'node', transform: 'translate(' + (x[i] - WIDTH / 2).toFixed(1) + ' ' + y(i) + ')' });
      const share = op.duration_us / longest;
      group.append(make('title', {}, op.name + ': ' + time(op.duration_us)), make('rect', { class: 'box', width: WIDTH, height: HEIGHT, rx: 4 }),
        make('rect', { x: 3, y: HEIGHT - 8, width: Math.max(2, share * (WIDTH - 6)).toFixed(1), height: 5, rx: 2, fill: colour(share) }),
        make('text', { x: 6, y: 17 }, short(op.op_type + '  ' + op.output_shape, 25 - time(op.duration_us).length)), make('text', { x: WIDTH - 6, y: 17, 'text-anchor': 'end' }, time(op.duration_us)));
      group.addEventListener('click', () => choose(i, false));
      drawing.append(group);
      return group;
    });
    const view = { x: 0, y: 0, w: 1, h: 1 };
    const show = () => drawing.setAttribute('viewBox', [view.x, view.y, view.w, view.h].map(v => v.toFixed(2)).join(' '));
    function whole() { view.x = left; view.w = right - left; view.y = 0; view.h = bottom; show(); }
    function near(i) { view.w = Math.min(900, Math.max(right - left, 420)); view.h = view.w * 0.7; view.x = x[i] - view.w / 2; view.y = y(i) - view.h / 2; show(); }
    function zoom(factor, cx, cy) {
      view.x = cx - (cx - view.x) * factor; view.y = cy - (cy - view.y) * factor; view.w *= factor; view.h *= factor; show();
    }
    const details = element('div', { class: 'details', role: 'status', 'aria-label': 'Chosen operator' });
    let chosen = -1;
    function choose(i, move) {
      if (chosen >= 0) groups[chosen].classList.remove('chosen');
      chosen = i;
      groups[i].classList.add('chosen');
      const op = ops[i], list = element('dl');
      const waits = Object.entries(op.wait_us || {}).filter(w => w[1] > 0).map(w => w[0] + ' ' + time(w[1])).join(', ');
      for (const [key, value] of [['type', op.op_type], ['class', op.class], ['time', time(op.duration_us) + ', ' + percent(op.duration_us / total) + ' of all operators'], ['starts', time(op.start_us) + ' on ' + op.device + ' queue ' + op.queue], ['waits', waits || 'none'],
        ['launch', op.dispatch ? time(op.dispatch.duration_us) + ' on host thread ' + op.dispatch.thread : ''], ['shape', op.output_shape], ['type of data', op.dtype], ['FLOPs', scaled(op.flops, '')], ['bytes', bytes(op.bytes)], ['bound', op.bound + ', at least ' + time(op.bound_us)], ['time from', op.source], ['critical', op.critical ? 'yes' : 'no'],
        ['stands for', (op.origins || []).map(o => o.name + ' (' + o.op_type + ')').join(', ')], ['reads', op.reads.map(r => all[r].name).join(', ')]]) {
        if (value) list.append(element('dt', { text: key }), element('dd', { text: String(value) }));
      }
      details.replaceChildren(element('strong', { text: op.name }), list);
      if (move) near(i);
    }
    let panned = null;
    const point = event => { const r = drawing.getBoundingClientRect(), k = Math.max(view.w / r.width, view.h / r.height); return [view.x + view.w / 2 + (event.clientX - r.left - r.width / 2) * k, view.y + view.h / 2 + (event.clientY - r.top - r.height / 2) * k]; };
    drawing.addEventListener('wheel', event => { event.preventDefault(); zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, ...point(event)); }, { passive: false });
    drawing.addEventListener('pointerdown', event => { panned = point(event); });
    drawing.addEventListener('pointermove', event => { if (panned && event.buttons) { const [px, py] = point(event); view.x += panned[0] - px; view.y += panned[1] - py; show(); } });
    addEventListener('pointerup', () => { panned = null; });
    const middle = factor => zoom(factor, view.x + view.w / 2, view.y + view.h / 2);
    drawing.addEventListener('keydown', event => {
      const step = { ArrowLeft: [-0.2, 0], ArrowRight: [0.2, 0], ArrowUp: [0, -0.2], ArrowDown: [0, 0.2] }[event.key];
      if (step) { view.x += step[0] * view.w; view.y += step[1] * view.h; show(); }
      else if (event.key === '+' || event.key === '=') middle(1 / 1.5);
      else if (event.key === '-') middle(1.5);
      else if (event.key === 'Home') whole();
      else return;
      event.preventDefault();
    });
    const button = (text, act) => { const made = element('button', { type: 'button', text }); made.addEventListener('click', act); return made; };
    const search = element('input', { type: 'search', placeholder: 'Search operators', 'aria-label': 'Search the network' });
    const found = element('span', { class: 'note', role: 'status' });
    let hits = [], next = 0;
    search.addEventListener('input', () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      hits = []; next = 0;
      ops.forEach((op, i) => {
        const hit = words.every(word => (op.name + ' ' + op.op_type + ' ' + op.class).toLowerCase().includes(word));
        groups[i].classList.toggle('missed', !hit);
        if (hit && words.length) hits.push(i);
      });
      found.textContent = words.length ? hits.length + ' operators; Enter goes to the next' : '';
    });
    search.addEventListener('keydown', event => { if (event.key === 'Enter' && hits.length) choose(hits[next++ % hits.length], true); });
    const beside = step => choose(chosen < 0 ? 0 : (chosen + step + ops.length) % ops.length, true);
    const slowest = ops.reduce((a, op, i) => op.duration_us > ops[a].duration_us ? i : a, 0);
    node.append(element('div', { class: 'bar' }, button('Zoom in', () => middle(1 / 1.5)), button('Zoom out', () => middle(1.5)), button('All', whole), button('Longest', () => choose(slowest, true)), button('Previous', () => beside(-1)), button('Next', () => beside(1)), search, found),
      element('div', { class: 'graphbox' }, drawing, details));
    whole();
    choose(slowest, bottom > 1200);
  }

  function showPrediction(d) {
    head(d.model + ' on ' + d.device, 'predicted; batch ' + d.batch + ', runtime ' + d.runtime + ', cost model ' + d.cost_model);
    if (d.fits === false) warn('Does not fit: needs ' + bytes(d.peak_memory_bytes) + ', the device has ' + bytes(d.device_memory_bytes) + '.');
    showLimits(d);
    if (d.verdict) main.append(element('p', { class: 'verdict' }, element('strong', { text: d.verdict.answer }), element('br'), d.verdict.reason));
    const range = d.latency_interval_ms, interval = range ? '80 %: ' + time(range.low * 1e3) + (range.high === null ? ' or more' : ' to ' + time(range.high * 1e3)) : '';
    const latency = either(d.latency_ms, d.latency_at_least_ms), rate = either(d.throughput_per_s, d.throughput_at_most_per_s);
    const cards = [['latency', least(d) + time(latency * 1e3), interval], ['throughput', (d.complete === false ? 'at most ' : d.is_limit ? '\u2264 ' : '') + digits(rate) + ' /s', 'samples'],
      ['limited by', d.limited_by || '-', d.verdict && d.verdict.change ? d.verdict.change.option + ': ' + time(d.verdict.change.latency_ms * 1e3) : ''],
      ['device busy', time(d.device_busy_ms * 1e3), percent(d.device_busy_ms / latency) + ' of the latency'], ['host busy', time(d.host_busy_ms * 1e3)],
      ['critical path', time(d.critical_path_ms * 1e3)], ['achieved', typeof d.achieved_flops_per_s === 'number' ? scaled(d.achieved_flops_per_s, 'FLOP/s') : '-', d.achieved_flops_per_s && d.peak_flops_per_s > 0 ? percent(d.achieved_flops_per_s / d.peak_flops_per_s) + ' of the ' + d.main_dtype + ' peak' : ''],
      ['peak memory', bytes(d.peak_memory_bytes), d.device_memory_bytes > 0 ? 'of ' + bytes(d.device_memory_bytes) : ''],
      ['precision', (d.precisions || []).map(s => s.name + ' ' + percent(s.fraction)).join(', '), d.precision || 'as in the file'],
      ['cost sources', (d.sources || []).map(s => s.name + ' ' + percent(s.fraction)).join(', '), 'share of the time']];
    showCards(cards);
    const ops = d.ops || [], classes = (d.classes || []).map(c => c.name);
    const tracks = [], index = new Map();
    const track = name => { if (!index.has(name)) { index.set(name, tracks.length); tracks.push(name); } return index.get(name); };
    const spans = ops.map(op => {
      const waits = Object.entries(op.wait_us || {}).filter(w => w[1] > 0).map(w => w[0] + ' ' + time(w[1]));
      return { track: track(op.device + ' queue ' + op.queue), start: op.start_us, end: op.start_us + op.duration_us, name: op.name, group: Math.min(classes.indexOf(op.class), 6), mark: op.critical, info: op.op_type + ' ' + op.output_shape + ', ' + op.bound + ', ' + op.source + (waits.length ? '; waited for ' + waits.join(', ') : '') };
    });
    (d.copies || []).forEach(c => spans.push({ track: track(c.from + ' \u2192 ' + c.to), start: c.start_us, end: c.start_us + c.duration_us, name: 'copy of ' + c.name, group: 6, mark: false, info: bytes(c.bytes) }));
    const launches = ops.filter(op => op.dispatch), hostGroup = Math.min(classes.length, 6);
    launches.forEach(op => spans.push({ track: track('host thread ' + op.dispatch.thread), start: op.dispatch.start_us, end: op.dispatch.start_us + op.dispatch.duration_us, name: 'launch of ' + op.name, group: hostGroup, mark: false, info: 'the host launches it' }));
    spans.sort((a, b) => a.start - b.start);
    showTimeline(tracks, spans, classes.slice(0, 6).concat(classes.length > 6 ? ['other' + (launches.length ? ', host' : '')] : launches.length ? ['host'] : []));
    showGraph(ops);
    const two = element('div', { class: 'two' });
    main.append(two);
    showBars(two, 'Time by class', (d.classes || []).map(c => [c.name, c.time_us]), time);
    showBars(two, 'Time by what limits it', (d.bounds || []).map(c => [c.name, c.time_us]), time);
    showTable('What would make it fit', [['setting', null], ['latency', time], ['memory', bytes], ['of', bytes]], (d.remedies || []).map(r => [r.action, typeof r.latency_ms === 'number' ? r.latency_ms * 1e3 : '-', r.peak_memory_bytes, r.device_memory_bytes]));
    showAdvice(d.advice, 'predicted');
    showMemory(d.memory || []);
    showTable('Operators', [['name', null], ['type', null], ['class', null], ['time', time], ['start', time], ['FLOPs', v => scaled(v, '')], ['bytes', bytes], ['bound', null], ['source', null], ['shape', null], ['critical', null]],
      ops.slice().sort((a, b) => b.duration_us - a.duration_us).map(o => [o.name, o.op_type, o.class, o.duration_us, o.start_us, o.flops, o.bytes, o.bound, o.source, o.output_shape, o.critical ? 'yes' : '']));
  }

  function showAnalysis(d) {
    const first = d.traces[0];
    const file = t => t.path.split('/').pop();
    head(d.traces.length > 1 ? d.traces.length + ' traces' : file(first), 'measured; ' + first.format + (first.device_name ? ', ' + first.device_name : ''));
    d.traces.forEach((t, n) => {
      const b = t.breakdown, share = v => b.total_ms > 0 ? percent(v / b.total_ms) : '';
      if (d.traces.length > 1) main.append(element('h2', { text: file(t) + (t.rank >= 0 ? ', rank ' + t.rank : '') }));
      const cards = [['total', time(b.total_ms * 1e3), t.on_device ? 'device time' : 'host time'], ['computation', time(b.computation_ms * 1e3), share(b.computation_ms)],
        ['exposed communication', time(b.exposed_communication_ms * 1e3), share(b.exposed_communication_ms)], ['exposed copies', time(b.exposed_copies_ms * 1e3), share(b.exposed_copies_ms)],
        ['idle', time(b.idle_ms * 1e3), share(b.idle_ms)], ['critical path', time(t.critical_path.length_us)]];
      if (t.warnings.length) cards.push(['warnings', String(t.warnings.reduce((a, w) => a + w.count, 0)), t.warnings.map(w => w.count + ' ' + w.text).join('; ')]);
      showCards(cards);
      showAdvice(t.advice, 'recorded');
      if (t.timeline) {
        const l = t.timeline, spans = l.start_us.map((start, i) => ({ track: l.track[i], start, end: start + l.duration_us[i], name: l.names[l.name[i]], group: l.kind[i], mark: l.critical[i] === 1, info: '' }));
        showTimeline(l.tracks, spans, l.kinds, l.left_out ? l.left_out + ' shorter spans are left out.' : '');
      }
      const two = element('div', { class: 'two' });
      main.append(two);
      showBars(two, 'Device time', [['computation', b.computation_ms * 1e3], ['exposed communication', b.exposed_communication_ms * 1e3], ['exposed copies', b.exposed_copies_ms * 1e3], ['idle', b.idle_ms * 1e3, 6]], time);
      showBars(two, 'Critical path', Object.entries(t.critical_path.class_us).filter(c => c[1] > 0), time);
      const ops = rows => rows.map(o => [o.name, o.detail || '', o.calls, o.time.total_us, o.share, o.time.median_us, o.time.max_us, o.host_us]);
      const columns = [['operator', null], ['node or shapes', null], ['calls', String], ['total', time], ['share', percent], ['median', time], ['max', time], ['own host time', time]];
      showTable('Operators', columns, ops(t.operators));
      if (t.nodes.some(o => o.detail)) showTable('Nodes and shapes', columns, ops(t.nodes));
      showTable('Kernels', [['kernel', null], ['kind', null], ['count', String], ['total', time], ['share', percent], ['median', time], ['deviation', time]], t.kernels.map(k => [k.name, k.kind, k.time.count, k.time.total_us, k.share, k.time.median_us, k.time.deviation_us]));
      showTable('Queues', [['device', null], ['queue', null], ['items', String], ['busy', time], ['idle: host', time], ['kernel gap', time], ['other', time], ['mean length', digits]], t.queues.map(q => [q.device, q.name, q.items, q.busy_us, q.idle_us.host, q.idle_us['kernel-gap'], q.idle_us.other, q.mean_length]));
      showTable('Copies', [['direction', null], ['size', null], ['count', String], ['bytes', bytes], ['time', time], ['rate', v => scaled(v, 'B/s')]], t.copies.map(c => [c.direction, c.size, c.time.count, c.bytes, c.time.total_us, c.bytes_per_s]));
      showTable('Waits', [['for', null], ['call', null], ['count', String], ['total', time], ['max', time]], t.waits.map(w => [w.for, w.name, w.time.count, w.time.total_us, w.time.max_us]));
      showMemory(t.memory);
    });
    showTable('Ranks', [['rank', String], ['total ms', digits], ['computation ms', digits], ['exposed communication ms', digits], ['idle ms', digits], ['over the median', percent]], d.ranks.map(r => [r.rank, r.breakdown.total_ms, r.breakdown.computation_ms, r.breakdown.exposed_communication_ms, r.breakdown.idle_ms, r.over_median]));
  }

  function showRooflines(d) {
    const last = d.rooflines[d.rooflines.length - 1], n = last.network;
    head(last.model + ' on ' + last.device_model, 'roofline; ' + (last.measured ? 'measured times' + (last.without_work > 0 ? ', ' + percent(last.without_work) + ' of the time left out: operators of unknown work' : '') : 'batch ' + last.batch + ', cost model ' + last.cost_model) + Object.entries(last.at || {}).filter(q => q[0] !== 'batch').map(q => ', ' + q[0] + ' ' + q[1]).join('') + [last.scaling, last.pool].filter(v => v).map(v => '; ' + v).join(''));
    showLimits(last);
    const known = (v, format) => typeof v === 'number' ? format(v) : '-';
    showCards([['device time', least(last) + time(either(n.time_us, last.time_at_least_us))], ['intensity', n.intensity.toPrecision(3), 'FLOP per byte'], ['rate', known(n.flops_per_s, v => scaled(v, 'FLOP/s'))], ['of its roof', known(n.efficiency, percent), 'least time over time'], ['memory', scaled(last.memory_bytes_per_s, 'B/s'), 'peak: ' + last.bandwidth_from], ['peaks', last.peaks_from, short(last.peaks_source || '', 80)]]);
    // A precision has compute roofs of its own.
    const own = r => last.roofs.some(o => o.dtype === r.dtype && o.matrix === r.matrix);
    const roofs = d.rooflines.flatMap(r => r.roofs).filter((r, i, all) => !own(r) && all.findIndex(o => o.dtype === r.dtype && o.matrix === r.matrix) === i);
    showRoofline(Object.assign({}, last, { roofs: last.roofs.concat(roofs) }), d.trajectories, d.swept);
    showFloors(last);
    const steps = d.trajectories.flatMap(l => l.steps.map(s => [l.name, s.from, s.to, either(s.gain, Math.pow(2, s.dy)), s.of_compute, s.of_memory, s.reading, s.advice]));
    showTable('Steps over ' + d.swept, [['line', null], ['from', String], ['to', String], ['gain', v => v.toFixed(2) + 'x'], ['of compute', percent], ['of memory', percent], ['reading', null], ['advice', null]], steps);
    const two = element('div', { class: 'two' });
    main.append(two);
    showBars(two, 'Time by class', last.classes.map(c => [c.name, c.time_us]), time);
    showBars(two, 'Of the roof by class', last.classes.filter(c => c.efficiency !== null).map(c => [c.name, c.efficiency]), percent);
    showTable('Operators', [['name', null], ['type', null], ['class', null], ['dtype', null], ['time', time], ['share', percent], ['FLOP/B', v => v.toPrecision(3)], ['rate', v => scaled(v, 'FLOP/s')], ['bytes/s', v => scaled(v, 'B/s')], ['of roof', percent], ['bound', null], ['source', null]],
      last.ops.map(o => [o.name, o.op_type, o.class, o.dtype, o.time_us, o.share, o.intensity, o.flops_per_s, o.bytes_per_s, o.efficiency ?? '-', o.bound, o.source]));
  }

  const PARTS = [['computation', 'computation_ms'], ['exposed communication', 'exposed_communication_ms'], ['exposed copies', 'exposed_copies_ms'], ['idle', 'idle_ms'], ['total', 'total_ms']];
  // Two values of each item side by side.
  function showPairs(parent, title, names, items, format) {
    const box = element('section', { 'aria-label': title }, element('h2', { text: title }));
    parent.append(box);
    chart(box, 90 + items.length * 40, title, b => ({
      legend: Object.assign({ data: names, top: 0 }, b.legend),
      tooltip: Object.assign({ formatter: p => escapeHtml(p.name + ', ' + p.seriesName) + ': ' + format(p.value) }, b.tooltip),
      grid: { left: 8, right: 80, top: 34, bottom: 24, containLabel: true },
      xAxis: Object.assign({ type: 'value' }, b.axis, { axisLabel: { color: b.fg, formatter: v => format(v), hideOverlap: true }, splitNumber: 4 }),
      yAxis: Object.assign({ type: 'category', inverse: true, data: items.map(i => short(i[0], 34)) }, b.axis),
      series: names.map((name, n) => ({ name, type: 'bar', data: items.map(i => i[n + 1]), label: { show: true, position: 'right', color: b.fg, formatter: p => format(p.value) } }))
    }));
  }

  function showReplay(d) {
    const what = d.changes.length ? d.changes.map(c => c.change).join(', ') : 'as recorded';
    head(d.path.split('/').pop(), 'replayed; ' + what + (d.device_name ? '; recorded on ' + d.device_name : ''));
    const cards = [['measured', time(d.measured_us)], ['replayed as recorded', time(d.same_us), (d.error >= 0 ? '+' : '\u2212') + Math.abs(d.error * 100).toFixed(2) + ' % of the measured']];
    if (d.changes.length) cards.push(['with the changes', time(d.replayed_us), (d.same_us / d.replayed_us).toFixed(2) + 'x the speed']);
    cards.push(['80 % interval', time(d.low_us) + ' to ' + time(d.high_us)],
      ['cost sources', d.sources.map(s => s.source + ' ' + s.pieces).join(', '), 'pieces of work']);
    showCards(cards);
    if (d.timelines) {
      const tracks = [], spans = [], kinds = ['kernel', 'op', 'runtime', 'copy', 'memset'];
      for (const side of ['measured', 'replayed']) {
        const l = d.timelines[side], first = tracks.length;
        l.tracks.forEach(t => tracks.push(side + ': ' + t));
        l.start_us.forEach((start, i) => spans.push({ track: first + l.track[i], start, end: start + l.duration_us[i], name: l.names[l.name[i]], group: Math.max(0, kinds.indexOf(l.kind[i])), mark: false, info: side }));
      }
      spans.sort((a, b) => a.start - b.start);
      const left = d.timelines.measured.left_out;
      showTimeline(tracks, spans, kinds, left ? left + ' shorter spans are left out.' : '');
    }
    const two = element('div', { class: 'two' });
    main.append(two);
    showPairs(two, 'Device time', ['measured', 'replayed'], PARTS.map(([name, key]) => [name, d.measured[key] * 1e3, d.replayed[key] * 1e3]), time);
    const kinds = Object.keys(d.path_us.same).filter(k => d.path_us.same[k] > 0 || d.path_us.replayed[k] > 0);
    showPairs(two, 'What decides the span', ['as recorded', 'replayed'], kinds.map(k => [k, d.path_us.same[k], d.path_us.replayed[k]]), time);
    showTable('Times from', [['source', null], ['pieces', String], ['measured', time], ['replayed', time]], d.sources.map(s => [s.source, s.pieces, s.measured_us, s.replayed_us]));
    showTable('Operators', [['operator', null], ['pieces', String], ['measured', time], ['replayed', time], ['ratio', v => v.toFixed(2) + 'x'], ['source', null]], d.operators.map(o => [o.name, o.pieces, o.measured_us, o.replayed_us, o.measured_us > 0 ? o.replayed_us / o.measured_us : 1, o.source]));
  }

  function showDiff(d) {
    const file = path => path.split('/').pop();
    head(file(d.a) + ' and ' + file(d.b), 'two runs side by side');
    showCards([['total A', time(d.total.a_us), file(d.a)], ['total B', time(d.total.b_us), file(d.b)], ['B over A', d.total.a_us > 0 ? (d.total.b_us / d.total.a_us).toFixed(2) + 'x' : '-']]);
    showPairs(main, 'Device time', ['A', 'B'], [['computation', d.computation], ['exposed communication', d.exposed_communication], ['exposed copies', d.exposed_copies], ['idle', d.idle]].map(([n, p]) => [n, p.a_us, p.b_us]), time);
    const kernels = d.compared === 'kernels';
    showTable(kernels ? 'Kernels' : 'Operators', [[kernels ? 'kernel' : 'operator', null], [kernels ? 'kind' : 'node or shapes', null], ['calls A', String], ['calls B', String], ['time A', time], ['time B', time], ['change of all', percent]], d.rows.map(r => [r.name, r.detail, r.calls_a, r.calls_b, r.a_us, r.b_us, r.change]));
  }

  const makespan = p => either(p.makespan_ms, p.makespan_at_least_ms);
  const limited = (c, p) => c.complete === false || p.is_limit ? '\u2265 ' : '';
  // How a policy works gives its bar the colour; the same for a name on every page.
  const FAMILIES = [
    ['list: a plan in one pass', 'cpop dls etf heft hlfet hsip hsv ippts lookahead maxmin minmin peft ppts send-ahead sufferage'],
    ['search: many plans', 'anneal optimal portfolio'],
    ['online: decides during the run', 'adon adonl critical-path datacentric donf donf2 donfl donfl2 donfm fcfs mct sjf work-stealing'],
    ['memory: respects what fits', 'm-etf m-sct m-topo'],
    ['fixed placement', 'best-single-device first-device round-robin'],
    ['plugin', '']];
  // NAME@ahead and NAME@ready are a list policy that decides then, whatever it does by itself.
  function familyOf(name) {
    if (name.endsWith('@ahead') || name.endsWith('@ready')) return name.endsWith('@ahead') ? 0 : 2;
    const found = FAMILIES.findIndex(f => f[1].split(' ').includes(name));
    return found < 0 ? FAMILIES.length - 1 : found;
  }
  function showComparison(list) {
    head(list.length > 1 ? list.length + ' problems' : list[0].graph + ' on ' + list[0].hardware, 'scheduling policies, each plan simulated');
    list.forEach(c => {
      const value = v => c.unitless ? String(v) : time(v * 1e3), done = c.policies.filter(p => typeof makespan(p) === 'number');
      if (list.length > 1) main.append(element('h2', { text: c.graph + ' on ' + c.hardware }));
      showLimits(Object.assign({}, done[0], c));
      showCards([['best', c.best || '-', done.length ? limited(c, done[0]) + value(makespan(done[0])) : ''], ['lower bound', value(c.lower_bound_ms)], ['one device alone', typeof c.single_device_ms === 'number' ? value(c.single_device_ms) : '-'], ['tasks', String(c.tasks), c.edges + ' edges']]);
      const used = [...new Set(done.map(p => familyOf(p.name)))].sort();
      main.append(element('div', { class: 'bar legend' }, ...used.map(f => { const dot = element('span', { class: 'swatch', 'aria-hidden': 'true' }); dot.style.background = COLOURS[f]; return element('span', {}, dot, FAMILIES[f][0]); })));
      const two = element('div', { class: 'two' });
      main.append(two);
      showBars(two, done.some(p => limited(c, p)) ? 'Makespan, \u2265: a lower limit' : 'Makespan', done.map(p => [limited(c, p) + p.name, makespan(p), familyOf(p.name)]), value, 60);
      showBars(two, 'Ratio to the best', done.filter(p => typeof p.ratio_to_best === 'number').map(p => [p.name, p.ratio_to_best, familyOf(p.name)]), v => v.toFixed(3), 60);
      if (c.drawing) {
        const node = section('Gantt chart');
        node.append(picture(c.drawing, 'Makespans of the policies, and which task ran when on which device in the plan of ' + c.best));
      }
      showTable('Policies', [['policy', null], ['family', null], ['makespan', value], ['to best', v => v.toFixed(3)], ['speed-up', v => v.toFixed(2)], ['SLR', v => v.toFixed(3)], ['efficiency', v => v.toFixed(2)], ['copies', String]], done.map(p => [p.name, FAMILIES[familyOf(p.name)][0].split(':')[0], limited(c, p) ? limited(c, p) + value(makespan(p)) : makespan(p), p.ratio_to_best ?? '-', p.speedup ?? '-', p.slr ?? '-', p.efficiency ?? '-', p.copies]));
    });
  }

  // A quantity over time: lines are [name, values]; their times are in seconds.
  function showSeries(title, times, lines, format) {
    const node = section(title);
    chart(node, 240, title, b => ({
      legend: Object.assign({ data: lines.map(l => l[0]), top: 0 }, b.legend),
      tooltip: Object.assign({ trigger: 'axis', formatter: p => time(p[0].value[0] * 1e6) + p.map(q => '<br>' + escapeHtml(q.seriesName) + ': ' + format(q.value[1])).join('') }, b.tooltip),
      grid: { left: 16, right: 24, top: 34, bottom: 30, containLabel: true },
      xAxis: Object.assign({ type: 'value', min: 'dataMin', max: 'dataMax' }, b.axis, { axisLabel: { color: b.fg, formatter: v => time(v * 1e6) } }),
      yAxis: Object.assign({ type: 'value', min: 0 }, b.axis, { axisLabel: { color: b.fg, formatter: format } }),
      series: lines.map(([name, values]) => ({ name, type: 'line', symbol: 'none', data: values.map((v, i) => [times[i], v]) }))
    }));
  }

  // Shares of requests (or tokens) that took at most so long.
  function showDistributions(lines) {
    const shown = lines.filter(l => l[1].length > 0), node = section('Latency distribution', 'Share of requests, or of tokens for the time between tokens, that took at most the time below.');
    chart(node, 300, 'Latency distribution', b => ({
      legend: Object.assign({ data: shown.map(l => l[0]), top: 0 }, b.legend),
      tooltip: Object.assign({ formatter: p => escapeHtml(p.seriesName) + ': ' + percent(p.value[1]) + ' within ' + time(p.value[0] * 1e3) }, b.tooltip),
      grid: { left: 16, right: 24, top: 34, bottom: 30, containLabel: true },
      xAxis: Object.assign({ type: 'log', min: 'dataMin', max: 'dataMax' }, b.axis, { axisLabel: { color: b.fg, formatter: v => time(v * 1e3) } }),
      yAxis: Object.assign({ type: 'value', min: 0, max: 1 }, b.axis, { axisLabel: { color: b.fg, formatter: percent } }),
      series: shown.map(([name, points]) => ({ name, type: 'line', step: 'end', symbolSize: 4, data: points }))
    }));
  }

  function showServing(d) {
    const ms = v => time(v * 1e3), range = (e, format) => '80 %: ' + format(e.low) + ' to ' + format(e.high);
    head(d.model + ' on ' + d.system, d.framework + ', ' + d.layout + ', simulated server; ' + d.workload);
    const cards = [['time to first token', ms(d.ttft_ms.mean.value), range(d.ttft_ms.mean, ms)], ['time per output token', ms(d.tpot_ms.mean.value), range(d.tpot_ms.mean, ms)],
      ['output tokens/s', scaled(d.output_tokens_per_s.value, ''), range(d.output_tokens_per_s, v => scaled(v, ''))], ['requests/s', digits(d.requests_per_s.value), range(d.requests_per_s, digits)]];
    if (d.goodput_per_s) cards.push(['goodput', digits(d.goodput_per_s.value) + ' /s', percent(d.goodput_share) + ' of requests keep all limits']);
    if (d.dollars_per_million_tokens) cards.push(['cost of a million tokens', '$' + d.dollars_per_million_tokens.value.toFixed(2), range(d.dollars_per_million_tokens, v => '$' + v.toFixed(2))]);
    cards.push(['engine busy', percent(d.busy_share), digits(d.mean_decodes) + ' sequences decode in a step'], ['cache in use', percent(d.peak_cache_share), 'at most, of ' + scaled(d.cache_tokens, 'tokens') + '; ' + d.preemptions + ' preemptions']);
    if (d.overloaded) cards.push(['overloaded', 'yes', 'requests arrive faster than the server answers']);
    showCards(cards);
    showTable('Latencies', [['latency', null], ['mean', ms], ['low', ms], ['high', ms], ['p50', ms], ['p90', ms], ['p99', ms]],
      [['time to first token', d.ttft_ms], ['time per output token', d.tpot_ms], ['time between tokens', d.itl_ms], ['end to end', d.e2e_ms], ['queue', d.queue_ms]].map(([name, l]) => [name, l.mean.value, l.mean.low, l.mean.high, l.p50.value, l.p90.value, l.p99.value]));
    showDistributions([['time to first token', d.ttft_distribution], ['time between tokens', d.itl_distribution], ['end to end', d.e2e_distribution]]);
    const times = d.series.map(row => row[0]), column = name => d.series.map(row => row[d.series_columns.indexOf(name)]);
    showSeries('Requests over time', times, [['running', column('running')], ['waiting', column('waiting')]], digits);
    showSeries('Tokens per second over time', times, [['output', column('output_tokens_per_s')], ['prompt', column('prompt_tokens_per_s')]], v => scaled(v, ''));
    showSeries('Cache in use over time', times, [['share of the cache', column('cache_share')]], percent);
    if (d.step) {
      const parts = Object.keys(d.part_share).filter(p => d.step.spans.some(s => s.part === p));
      showTimeline(['GPU'], d.step.spans.map(s => ({ track: 0, start: s.start_us, end: s.start_us + s.time_us, name: s.name, group: parts.indexOf(s.part), mark: false, info: s.part + (s.layer >= 0 ? ', layer ' + s.layer : '') })), parts,
        'One decode step of ' + d.step.sequences + ' sequences with ' + d.step.context_tokens + ' cached tokens each, ' + time(d.step.time_us) + '.');
    }
    showBars(main, 'Time by kernel class', Object.entries(d.part_share).filter(p => p[1] > 0), percent);
  }

  function setTheme(choice) {
    const system = window.matchMedia && matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
    document.documentElement.dataset.theme = choice === 'auto' ? system : choice;
    draw();
  }

  // Memory of the fullest device of each plan, by what it is for.
  function showMemoryStack(plans) {
    const parts = [['weights', 'weight_bytes'], ['gradients', 'gradient_bytes'], ['optimiser', 'optimizer_bytes'], ['activations', 'activation_bytes']]
      .filter(([, key]) => plans.some(p => p[key] > 0));
    const shown = plans.slice(0, 20), node = section('Memory of the fullest device');
    chart(node, 90 + shown.length * 26, 'Memory of ' + shown.length + ' plans', b => ({
      tooltip: Object.assign({ trigger: 'axis', axisPointer: { type: 'shadow' }, valueFormatter: bytes }, b.tooltip),
      legend: b.legend,
      grid: { left: 8, right: 40, top: 32, bottom: 24, containLabel: true },
      xAxis: Object.assign({ type: 'value' }, b.axis, { axisLabel: { color: b.fg, formatter: bytes, hideOverlap: true }, splitNumber: 4 }),
      yAxis: Object.assign({ type: 'category', inverse: true, data: shown.map(p => p.strategy + ', ' + p.micro_batches + ' mb') }, b.axis),
      series: parts.map(([name, key]) => ({ name, type: 'bar', stack: 'memory', data: shown.map(p => p[key] || 0) }))
    }));
  }

  // 'dp 2 x tp 4' in words: '2 data \u00d7 4 tensor'.
  const DEGREES = { dp: 'data', tp: 'tensor', pp: 'pipeline', ep: 'expert', sp: 'sequence', cp: 'context', fsdp: 'sharded data', zero: 'sharded data' };
  function planWords(strategy) {
    const parts = [...String(strategy).matchAll(/([a-z]+) (\d+)/g)].filter(p => DEGREES[p[1]]);
    const words = parts.length ? parts.map(p => p[2] + ' ' + DEGREES[p[1]]).join(' \u00d7 ') : strategy === 'single' ? 'one device' : String(strategy);
    return parts.length && /replicated$/.test(strategy) ? words + ' replicas' : words;
  }
  // 'dp 2 x tp 4: 2 data \u00d7 4 tensor'.
  function planName(strategy) {
    const words = planWords(strategy);
    return words === strategy ? words : strategy + ': ' + words;
  }

  function showPartitioning(d) {
    head(d.model + ' on ' + d.hardware, (d.mode === 'train' ? 'training with ' + d.optimizer + ', ' : '') + 'batch ' + d.batch + '; runtime ' + d.runtime + ', operator times: ' + d.cost_model + ', collectives: ' + d.collectives);
    const plans = d.plans.filter(p => !p.error), best = plans.find(p => p.strategy === d.best && p.fits);
    const least_memory = Math.min(...plans.map(p => p.memory_bytes)), nearest = plans.find(p => p.memory_bytes === least_memory);
    if (d.fits === false && nearest) warn('Does not fit: no plan fits; ' + nearest.strategy + ' needs ' + bytes(nearest.memory_bytes) + ' per device, which has ' + bytes(nearest.capacity_bytes) + '.');
    showLimits(Object.assign({}, d.single_device, d));
    if (best) {
      showCards([['Best plan', best.strategy, planWords(best.strategy) + '; ' + best.devices + ' devices, ' + best.micro_batches + (best.micro_batches === 1 ? ' micro-batch' : ' micro-batches')], ['Time', least(best) + time(either(best.time_ms, best.time_at_least_ms) * 1e3), typeof best.samples_per_s === 'number' ? (least(best) ? '\u2264 ' : '') + digits(best.samples_per_s) + ' samples/s' : ''],
        ['Speed-up', typeof best.speedup === 'number' ? digits(best.speedup) : '-', typeof best.efficiency === 'number' ? percent(best.efficiency) + ' efficiency' : ''], ['Memory', bytes(best.memory_bytes), 'of ' + bytes(best.capacity_bytes)], ['Limit', best.limit, percent(best.communication_share) + ' communication']]);
    }
    if (d.drawing) {
      section('The best plan').append(picture(d.drawing, 'Plan ' + (best ? planWords(best.strategy) : '') + ': devices over time, and how weights are cut'));
    }
    showTable('Plans', [['strategy', null], ['devices', String], ['micro-batches', String], ['time', v => time(v * 1e3)], ['samples/s', digits], ['speed-up', digits], ['efficiency', percent], ['memory', bytes], ['compute', percent], ['communi\u00adcation', percent], ['host', percent], ['bubble', percent], ['limit', null]],
      plans.concat([d.single_device]).map(p => [planName(p.strategy), p.devices, p.micro_batches, least(p) ? '\u2265 ' + time(either(p.time_ms, p.time_at_least_ms) * 1e3) : p.time_ms, p.samples_per_s ?? '-', p.speedup ?? '-', p.efficiency ?? '-', p.memory_bytes, p.compute_share, p.communication_share, p.host_share, p.bubble_share, p.fits ? p.limit : 'MEMORY']));
    showMemoryStack(plans.concat([d.single_device]));
    showTable('Plans that could not be made', [['strategy', null], ['why', null]], d.plans.filter(p => p.error).map(p => [p.strategy, p.error]));
    showTable('Kept whole, as they do not divide by the devices', [['strategy', null], ['what', null]], plans.flatMap(p => (p.kept_whole || []).map(what => [p.strategy, what])));
  }

  // A sweep: the settings that differ within it name a configuration.
  function sweepNames(rows) {
    const keys = ['runtime', 'precision', 'policy'].concat(Object.keys(rows[0] || {}).filter(k => k.startsWith('param:')));
    const varying = keys.filter(k => rows.some(r => r[k] !== rows[0][k]));
    const settings = r => varying.filter(k => r[k] !== null && r[k] !== '').map(k => k.startsWith('param:') ? k.slice(6) + '=' + r[k] : r[k]).join(', ');
    return { settings, line: r => r.hw + (settings(r) ? ', ' + settings(r) : '') };
  }
  // Models on machines, each cell by its share of the row's best: a heat map that is also a table.
  function showHeatMap(models, rows) {
    const machines = [...new Set(rows.map(r => r.hw))];
    if (machines.length < 2) return;
    const node = section('Highest samples per second', 'The darker a cell, the closer to the best machine for the model.');
    const body = element('tbody'), head = element('tr', {}, element('th', { text: 'model', scope: 'col' }), ...machines.map(m => element('th', { class: 'num', text: m, scope: 'col' })));
    for (const m of models) {
      const best = machines.map(hw => Math.max(0, ...rows.filter(r => r.hw === hw && r.file === m.file && r.mode === m.mode && !r.error && !r.is_limit && r.fits !== false).map(r => r.throughput_per_s)));
      const top = Math.max(...best);
      body.append(element('tr', {}, element('th', { text: m.label, scope: 'row' }), ...best.map(v => element('td', { class: 'num heat', text: v > 0 ? v.toPrecision(4).replace(/e\+(\d+)$/, 'e$1') : '-', title: v > 0 ? percent(v / top) + ' of the best' : 'no estimate', style: v > 0 ? '--heat:' + Math.round(70 * v / top) + '%' : '' }))));
    }
    node.append(element('div', { class: 'tablebox', tabindex: '0', role: 'region', 'aria-label': title + ', table' }, element('table', {}, element('thead', {}, head), body)));
  }
  function showSweep(d) {
    const models = d.models.map(m => Object.assign({ label: m.model + (d.models.some(n => n.mode !== m.mode) ? ', ' + m.mode : '') + (d.models.some(n => n.model === m.model && n.file !== m.file) ? ' (' + m.file + ')' : '') }, m));
    const machines = new Set(d.rows.map(r => r.hw)), names = sweepNames(d.rows), ms = v => time(v * 1e3);
    head('Sweep of ' + models.length + (models.length === 1 ? ' model' : ' models') + ' on ' + machines.size + (machines.size === 1 ? ' machine' : ' machines'), d.points + ' points' + (d.failed ? ', ' + d.failed + ' failed' : ''));
    const priced = d.rows.some(r => typeof r.cost_per_million === 'number'), c = d.constraints;
    const limits = [[c.max_latency_ms, v => 'latency at most ' + v + ' ms'], [c.max_memory_gb, v => 'memory at most ' + v + ' GB'], [c.max_price_per_hour, v => 'price at most ' + v + ' per hour']].filter(l => l[0] !== null).map(l => l[1](l[0]));
    const figures = r => [r.hw, names.settings(r), r.batch, r.latency_ms, r.throughput_per_s, r.peak_memory_bytes].concat(priced ? [r.cost_per_million ?? '-'] : []);
    const columns = [['machine', null], ['settings', null], ['batch', String], ['latency', ms], ['samples/s', v => v.toPrecision(4)], ['memory', bytes]].concat(priced ? [['cost per million', v => v.toPrecision(4)]] : []);
    showTable('Best configurations', [['model', null], ['best in', null]].concat(columns), models.flatMap(m => Object.entries(m.best).filter(b => b[1] !== null).map(([goal, row]) => [m.label, goal].concat(figures(d.rows[row])))), limits.length ? 'Constraints: ' + limits.join(', ') + '.' : '');
    showHeatMap(models, d.rows);
    const drawn = models.filter(m => d.rows.some(r => r.file === m.file && r.mode === m.mode && !r.error && !r.is_limit));
    if (drawn.length) {
      const picked = element('select', { 'aria-label': 'Model of the charts' }, ...drawn.map((m, i) => element('option', { value: i, text: m.label })));
      const bar = section('Charts');
      bar.append(element('div', { class: 'bar' }, element('label', {}, 'Model ', picked)));
      const model = () => drawn[Number(picked.value)];
      const points = () => d.rows.filter(r => r.file === model().file && r.mode === model().mode && !r.error && !r.is_limit);
      const [goal, goalName] = priced ? [r => r.cost_per_million, 'cost per million samples'] : [r => r.throughput_per_s, 'samples per second'];
      const lines = () => [...new Set(points().map(names.line))].slice(0, 40);
      const tip = p => p.data.row ? '<b>' + escapeHtml(names.line(p.data.row)) + '</b><br>batch ' + p.data.row.batch + ', ' + ms(p.data.row.latency_ms) + ' (80 %: ' + ms(p.data.row.latency_low_ms) + ' to ' + ms(p.data.row.latency_high_ms) + ')<br>' + p.data.row.throughput_per_s.toPrecision(4) + ' per s, ' + bytes(p.data.row.peak_memory_bytes) + (typeof p.data.row.cost_per_million === 'number' ? ', ' + p.data.row.cost_per_million.toPrecision(4) + ' per million' : '') : '';
      const axis = (b, name, format) => Object.assign({ type: 'log', name, nameLocation: 'middle', min: 'dataMin', max: 'dataMax' }, b.axis, { axisLabel: { color: b.fg, formatter: format, hideOverlap: true } });
      const number = v => v >= 1000 ? scaled(v, '').trim() : Number(v.toPrecision(3)).toString();
      const two = element('div', { class: 'two' }), front = element('section', { 'aria-label': 'Pareto front' }, element('h2', { text: 'Pareto front' }), element('p', { class: 'note', text: 'No configuration is better in both latency and ' + goalName + ' than one on the line.' }));
      const over = element('section', { 'aria-label': 'Latency over the batch' }, element('h2', { text: 'Latency over the batch' }), element('p', { class: 'note', text: 'A line per machine and settings' + (drawn.some(m => new Set(d.rows.filter(r => r.file === m.file).map(names.line)).size > 40) ? '; the first 40 of them' : '') + '.' }));
      two.append(front, over);
      main.append(two);
      chart(front, 380, 'Latency and ' + goalName, b => ({
        legend: Object.assign({ data: lines(), top: 0 }, b.legend), tooltip: Object.assign({ formatter: tip }, b.tooltip),
        grid: { left: 36, right: 30, top: 48, bottom: 44, containLabel: true },
        xAxis: Object.assign(axis(b, 'latency', ms), { nameGap: 28 }), yAxis: Object.assign(axis(b, goalName, number), { nameGap: 52 }),
        series: lines().map(name => ({ name, type: 'scatter', symbolSize: 9, data: points().filter(r => names.line(r) === name && goal(r) > 0).map(row => ({ value: [row.latency_ms, goal(row)], row })) }))
          .concat([{ name: 'front', type: 'line', symbol: 'none', silent: true, lineStyle: { color: b.fg, width: 1.5, type: 'dashed' }, data: model().pareto_front.map(i => d.rows[i]).filter(r => goal(r) > 0).map(r => [r.latency_ms, goal(r)]) }])
      }));
      chart(over, 380, 'Latency over the batch', b => ({
        legend: Object.assign({ data: lines(), top: 0 }, b.legend), tooltip: Object.assign({ formatter: tip }, b.tooltip),
        grid: { left: 36, right: 30, top: 48, bottom: 44, containLabel: true },
        xAxis: Object.assign(axis(b, 'batch', number), { nameGap: 28 }), yAxis: Object.assign(axis(b, 'latency', ms), { nameGap: 52 }),
        series: lines().map(name => ({ name, type: 'line', symbolSize: 7, data: points().filter(r => names.line(r) === name).sort((x, y) => x.batch - y.batch).map(row => ({ value: [row.batch, row.latency_ms], row })) }))
      }));
      picked.addEventListener('change', draw);
    }
    showTable('Pareto fronts', [['model', null]].concat(columns), models.flatMap(m => m.pareto_front.map(row => [m.label].concat(figures(d.rows[row])))));
    const why = models.map(m => [m.label, m.not_ranked.failed, m.not_ranked.limits, m.not_ranked.too_large, m.not_ranked.excluded]).filter(r => r.slice(1).some(n => n > 0));
    showTable('Not ranked', [['model', null], ['failed', String], ['lower limits only', String], ['too much memory', String], ['outside the constraints', String]], why);
    showTable('All points', [['model', null], ['mode', null]].concat(columns, [['80 % interval', null], ['error', null]]), d.rows.map(r => [r.model, r.mode].concat(r.error ? [r.hw, names.settings(r), r.batch ?? '-'].concat(columns.slice(3).map(() => '-')) : figures(r), [r.error ? '' : ms(r.latency_low_ms) + ' to ' + ms(r.latency_high_ms), r.error || (r.is_limit ? 'a lower limit' : r.fits ? '' : 'does not fit')])));
  }

  if (data.schema === 'dfsim.partition/1') showPartitioning(data);
  else if (data.schema === 'dfsim.sweep/1') showSweep(data);
  else if (data.schema === 'dfsim.llm-serve/1') showServing(data);
  else if (data.traces) showAnalysis(data);
  else if (data.rooflines) showRooflines(data);
  else if (data.path_us) showReplay(data);
  else if (data.schema === 'dfsim.diff/1') showDiff(data);
  else if (data.instances) showComparison(data.instances);
  else if (data.policies) showComparison([data]);
  else showPrediction(data);
  const theme = document.getElementById('theme');
  theme.addEventListener('change', () => setTheme(theme.value));
  if (window.matchMedia) matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => setTheme(theme.value));
  document.getElementById('print').addEventListener('click', () => window.print());
  let before = null;
  addEventListener('beforeprint', () => { before = document.documentElement.dataset.theme; document.documentElement.dataset.theme = 'light'; draw(); });
  addEventListener('afterprint', () => { document.documentElement.dataset.theme = before || 'light'; draw(); });
  addEventListener('resize', () => charts.forEach(c => c.instance && c.instance.resize()));
  setTheme('auto');
  document.body.dataset.ready = 'yes';
})();
