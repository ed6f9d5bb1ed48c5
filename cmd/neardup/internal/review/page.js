// This file is what the page of package review does. Texts come from documents that may have anything in them, so
// they are only ever set as text (textContent), never as markup.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  const blocks = document.querySelectorAll("script.texts");
  const n = data.a ? data.a.length : 0;
  const rowHeight = 80;

  // make returns an element with a class and a text.
  const make = (name, className, text) => {
    const e = document.createElement(name);
    if (className) e.className = className;
    if (text !== undefined) e.textContent = text;
    return e;
  };
  const percent = (x) => x.toFixed(2);

  // Labels are kept by the browser, as far as it lets a file do so, until they are saved.
  const storage = "neardup-labels-" + data.key;
  const pairKey = (i) => JSON.stringify([data.ids[data.a[i]], data.ids[data.b[i]]]);
  let labels = {};
  try { labels = JSON.parse(localStorage.getItem(storage) || "{}"); } catch { /* not allowed: they live as long as the page */ }
  const keep = () => { try { localStorage.setItem(storage, JSON.stringify(labels)); } catch { /* the same */ } };
  const labelOf = (i) => labels[pairKey(i)];

  // textOf returns a promise of the text of a document. Blocks of texts are unpacked when they are needed.
  const unpacked = new Map();
  const textOf = async (doc) => {
    const block = Math.floor(doc / data.block);
    if (!unpacked.has(block)) {
      unpacked.set(block, (async () => {
        const bytes = Uint8Array.from(atob(blocks[block].textContent), (c) => c.charCodeAt(0));
        const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
        return JSON.parse(await new Response(stream).text());
      })());
    }
    return (await unpacked.get(block))[doc % data.block];
  };

  // What is shown.
  let threshold = data.threshold;
  let shown = []; // the pairs that pass the filter, in order
  let selected = -1; // a pair
  let group = 0; // only its pairs are shown; 0: all
  let found = null; // the documents that have what is searched; null: all

  const groupOf = (i) => {
    const a = data.groups[data.a[i]][0];
    return a && a === data.groups[data.b[i]][0] ? a : 0;
  };
  const sizeOf = (i) => groupOf(i) ? data.groups[data.a[i]][1] : 0;

  const passes = (i) => {
    const s = data.p[i];
    const from = parseFloat($("from").value), to = parseFloat($("to").value);
    if (s < from || s > to) return false;
    if ($("unlabelled").checked && labelOf(i) !== undefined) return false;
    if (!$("kind-" + data.k[i]).checked) return false;
    if (group && groupOf(i) !== group) return false;
    return !found || found.has(data.a[i]) || found.has(data.b[i]);
  };

  const orders = {
    doubt: (i, j) => Math.abs(data.p[i] - threshold) - Math.abs(data.p[j] - threshold),
    size: (i, j) => sizeOf(j) - sizeOf(i) || groupOf(i) - groupOf(j) || data.p[i] - data.p[j],
    high: (i, j) => data.p[j] - data.p[i] || data.s[j] - data.s[i],
    low: (i, j) => data.p[i] - data.p[j] || data.s[i] - data.s[j],
  };

  const refresh = () => {
    shown = [];
    for (let i = 0; i < n; i++) if (passes(i)) shown.push(i);
    const order = orders[$("order").value];
    shown.sort((i, j) => order(i, j) || i - j);
    $("count").textContent = shown.length.toLocaleString("en") + " of " + n.toLocaleString("en") + " pairs" +
      (data.left ? "; " + data.left.toLocaleString("en") + " more are not in this page" : "");
    $("spacer").style.height = shown.length * rowHeight + "px";
    $("list").scrollTop = 0;
    drawRows();
  };

  // drawRows makes the rows of the list that can be seen, and no others.
  const rows = new Map();
  const drawRows = () => {
    const list = $("list");
    const first = Math.max(0, Math.floor(list.scrollTop / rowHeight) - 5);
    const last = Math.min(shown.length, Math.ceil((list.scrollTop + list.clientHeight) / rowHeight) + 5);
    for (const row of rows.values()) row.remove();
    rows.clear();
    for (let k = first; k < last; k++) {
      const i = shown[k];
      const row = make("div", "row");
      row.style.top = k * rowHeight + "px";
      row.setAttribute("role", "option");
      row.setAttribute("aria-selected", String(i === selected));
      row.append(make("div", "ids", data.ids[data.a[i]]), make("div", "ids", data.ids[data.b[i]]));
      const about = make("div", "about", percent(data.p[i]) + " · " + data.kinds[data.k[i]] +
        (sizeOf(i) ? " · group of " + sizeOf(i) : ""));
      const mark = labelOf(i) === true ? "same" : labelOf(i) === false ? "different" :
        data.p[i] >= threshold && data.p[i] < data.threshold ? "would join" :
        data.p[i] < threshold && data.p[i] >= data.threshold ? "would part" : "";
      if (mark) about.append(" · ", make("span", "mark", mark));
      row.append(about);
      row.addEventListener("click", () => select(i));
      rows.set(i, row);
      list.append(row);
    }
  };

  // tokens cuts a text into words, single characters where those are words, and what is between.
  const tokens = (text) => text.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{N}\p{M}_]+|\s+|[^]/gu) || [];

  // fill sets the two texts, with what differs marked. Long texts that differ much would take the browser minutes,
  // so then only their lines are compared, and after a second nothing is.
  const fill = (a, b) => {
    const left = $("text-a"), right = $("text-b");
    left.replaceChildren();
    right.replaceChildren();
    let parts = Diff.diffArrays(tokens(a), tokens(b), { timeout: 1000 });
    if (!parts) parts = Diff.diffArrays(a.split(/(?<=\n)/), b.split(/(?<=\n)/), { timeout: 1000 });
    if (!parts) parts = [{ removed: true, value: [a] }, { added: true, value: [b] }];
    for (const p of parts) {
      const text = p.value.join("");
      if (!p.added) left.append(p.removed ? make("del", "", text) : document.createTextNode(text));
      if (!p.removed) right.append(p.added ? make("ins", "", text) : document.createTextNode(text));
    }
  };

  const select = async (i) => {
    selected = i;
    drawRows();
    if (i < 0) return;
    for (const [side, doc] of [["a", data.a[i]], ["b", data.b[i]]]) {
      $("id-" + side).textContent = data.ids[doc];
      const [number, size, kept] = data.groups[doc];
      $("at-" + side).textContent = data.places[doc] + (number ? ` · group ${number}, of ${size} documents` + (kept ? ", kept" : "") : "");
    }
    $("says").textContent = `probability ${data.p[i].toFixed(4)}, similarity ${data.s[i].toFixed(4)}, ${data.kinds[data.k[i]]}`;
    const g = groupOf(i);
    $("onegroup").hidden = !g && !group;
    $("onegroup").textContent = group ? "show all groups" : `show only group ${g}`;
    drawLabel();
    const body = $("features");
    body.replaceChildren();
    const why = data.why[i] || [];
    for (let k = 0; k < why.length; k += 2) {
      const row = make("tr");
      for (const cell of [why[k], (why[k + 1] > 0 ? "+" : "") + why[k + 1].toFixed(2)]) row.append(make("td", "", cell));
      body.append(row);
    }
    $("because").textContent = "Why this probability" + (why.length ? ": most of all " + why[0] : "");
    $("nowhy").textContent = why.length ? "" : "The reasons are in this page for the most doubtful pairs only; neardup explain shows those of any pair.";
    const [a, b] = await Promise.all([textOf(data.a[i]), textOf(data.b[i])]);
    if (selected === i) fill(a, b);
  };

  const drawLabel = () => {
    $("same").setAttribute("aria-pressed", String(labelOf(selected) === true));
    $("different").setAttribute("aria-pressed", String(labelOf(selected) === false));
    $("save").textContent = `Save labels (${Object.keys(labels).length})`;
  };

  // setLabel labels the selected pair and goes to the next one.
  const setLabel = (same) => {
    if (selected < 0) return;
    if (same === undefined) delete labels[pairKey(selected)]; else labels[pairKey(selected)] = same;
    keep();
    drawLabel();
    drawChart();
    if (same !== undefined) step(1); else drawRows();
  };

  const step = (by) => {
    const at = shown.indexOf(selected);
    const next = shown[Math.min(Math.max(at + by, 0), shown.length - 1)];
    if (next === undefined) return;
    const list = $("list"), top = shown.indexOf(next) * rowHeight;
    if (top < list.scrollTop || top + rowHeight > list.scrollTop + list.clientHeight) list.scrollTop = top - list.clientHeight / 2;
    select(next);
  };

  // save downloads the labels as JSON lines, which neardup calibrate reads.
  const save = () => {
    const lines = Object.entries(labels).map(([key, same]) => {
      const [a, b] = JSON.parse(key);
      return JSON.stringify({ a, b, same }) + "\n";
    });
    const link = make("a");
    link.href = URL.createObjectURL(new Blob(lines, { type: "application/jsonl" }));
    link.download = "labels.jsonl";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  // drawChart draws the number of pairs by probability, the border, and the labelled pairs.
  const drawChart = () => {
    const chart = $("chart");
    chart.replaceChildren();
    const draw = (name, attributes) => {
      const e = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
      chart.append(e);
    };
    const x = (p) => p * 600;
    let counts = data.curve;
    if (!counts) {
      counts = new Array(20).fill(0);
      for (let i = 0; i < n; i++) counts[Math.min(19, Math.floor(data.p[i] * 20))]++;
    }
    const most = Math.max(1, ...counts.map(Math.sqrt));
    counts.forEach((count, i) => draw("rect", { x: i * 30 + 1, width: 28, y: 78 - 76 * Math.sqrt(count) / most, height: 76 * Math.sqrt(count) / most }));
    draw("line", { class: "was", x1: x(data.threshold), x2: x(data.threshold), y1: 0, y2: 78 });
    draw("line", { class: "threshold", x1: x(threshold), x2: x(threshold), y1: 0, y2: 78 });
    for (let i = 0; i < n; i++) {
      const label = labelOf(i);
      if (label !== undefined) draw("line", { class: label ? "same" : "different", x1: x(data.p[i]), x2: x(data.p[i]), y1: 80, y2: 90 });
    }
  };

  const drawThreshold = () => {
    $("at").textContent = percent(threshold);
    let now = 0, was = 0;
    for (let i = 0; i < n; i++) {
      if (data.p[i] >= threshold) now++;
      if (data.p[i] >= data.threshold) was++;
    }
    const change = now === was ? "" : now > was ? `; ${(now - was).toLocaleString("en")} would join` : `; ${(was - now).toLocaleString("en")} would part`;
    const below = threshold < data.least ? ` This page has pairs from ${percent(data.least)} on.` : "";
    $("effect").textContent = `From ${percent(threshold)} on: ${now.toLocaleString("en")} pairs${change}.${below}`;
    drawChart();
  };

  // search finds the documents whose ids or texts have something. Texts are unpacked for it once.
  let searching = 0;
  const search = async () => {
    const what = $("search").value.trim().toLowerCase();
    const mine = ++searching;
    if (!what) {
      found = null;
      refresh();
      return;
    }
    const has = new Set();
    for (let doc = 0; doc < data.ids.length; doc++) {
      const text = await textOf(doc);
      if (mine !== searching) return;
      if (data.ids[doc].toLowerCase().includes(what) || text.toLowerCase().includes(what)) has.add(doc);
    }
    found = has;
    refresh();
  };

  // Begin.
  $("summary").textContent = `${data.documents.toLocaleString("en")} documents. ${data.reason}. ${data.made}`;
  data.kinds.forEach((kind, k) => {
    const label = make("label");
    const box = make("input");
    box.type = "checkbox";
    box.id = "kind-" + k;
    box.checked = true;
    box.addEventListener("change", refresh);
    label.append(box, " " + kind);
    $("kinds").append(label);
  });
  $("from").value = Math.floor(data.least * 100) / 100;
  $("to").value = 1;
  $("threshold").value = threshold;
  $("threshold").addEventListener("input", () => {
    threshold = parseFloat($("threshold").value);
    drawThreshold();
    drawRows();
  });
  $("threshold").addEventListener("change", refresh);
  for (const id of ["from", "to", "unlabelled", "order"]) $(id).addEventListener("change", refresh);
  let typing = 0;
  $("search").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(search, 250); });
  $("filter").addEventListener("submit", (e) => e.preventDefault());
  $("onegroup").addEventListener("click", () => {
    group = group ? 0 : groupOf(selected);
    refresh();
    select(selected);
  });
  $("list").addEventListener("scroll", drawRows);
  addEventListener("resize", drawRows);
  $("previous").addEventListener("click", () => step(-1));
  $("next").addEventListener("click", () => step(1));
  $("same").addEventListener("click", () => setLabel(true));
  $("different").addEventListener("click", () => setLabel(false));
  $("clear").addEventListener("click", () => setLabel(undefined));
  $("save").addEventListener("click", save);
  addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
    const act = { j: () => step(1), ArrowDown: () => step(1), k: () => step(-1), ArrowUp: () => step(-1), s: () => setLabel(true), d: () => setLabel(false), u: () => setLabel(undefined) }[e.key];
    if (act) {
      e.preventDefault();
      act();
    }
  });
  drawThreshold();
  refresh();
  select(shown.length ? shown[0] : -1);
  if (!n) $("says").textContent = "There are no pairs.";
})();
