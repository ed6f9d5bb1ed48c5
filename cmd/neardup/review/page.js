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
  const counted = (n, one) => n.toLocaleString("en") + " " + one + (n === 1 ? "" : "s");

  // Labels are kept by the browser, as far as it lets a file do so, until they are saved.
  const storage = "neardup-labels-" + data.key;
  const pairKey = (i) => JSON.stringify([data.ids[data.a[i]], data.ids[data.b[i]]]);
  let labels = {};
  try { labels = JSON.parse(localStorage.getItem(storage) || "{}"); } catch { /* not allowed: they live as long as the page */ }
  const names = { true: "same", false: "different", unsure: "unsure" };
  const disagree = new Set(); // pairs whose labels in two files disagree
  const undone = []; // what labels were before, the last one at the end
  const keep = () => {
    try {
      localStorage.setItem(storage, JSON.stringify(labels));
      localStorage.setItem(storage + "-keep", JSON.stringify(choices));
    } catch { /* the same */ }
  };
  const labelOf = (i) => labels[pairKey(i)];
  const known = new Map(); // the pairs of the page by their keys
  for (let i = 0; i < n; i++) known.set(pairKey(i), i);
  const labelledPairs = () => Object.keys(labels).map((key) => known.get(key)).filter((i) => i !== undefined);

  // Choices are the documents that somebody wants to keep, by the ids of those that their groups keep.
  let choices = {};
  try { choices = JSON.parse(localStorage.getItem(storage + "-keep") || "{}"); } catch { /* the same */ }

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

  // learn moves the decision by the labels: it finds what is to be added to the log odds of every pair so that the labels are most likely (logistic
  // regression with nothing but a constant, which is 0 give or take 2 before anybody has labelled). info is how much the labels tell about it: its
  // standard error is the root of 1/info.
  const logit = (p) => { const q = Math.min(Math.max(p, 0.0005), 0.9995); return Math.log(q / (1 - q)); };
  const odds = (x) => 1 / (1 + Math.exp(-x));
  let learned = { shift: 0, info: 0.25, labels: 0 };
  const learn = () => {
    const seen = [];
    for (const i of labelledPairs()) { const label = labelOf(i); if (label !== "unsure") seen.push([logit(data.p[i]), label ? 1 : 0]); }
    let shift = 0, info = 0.25;
    for (let round = 0; round < 30; round++) {
      let slope = -shift / 4;
      info = 0.25;
      for (const [x, y] of seen) { const q = odds(x + shift); slope += y - q; info += q * (1 - q); }
      shift += Math.max(Math.min(slope / info, 2), -2);
    }
    learned = { shift, info, labels: seen.length };
  };
  // A pair teaches most if the labels leave it most uncertain; one about documents that have a label already teaches less.
  let labelled = new Set(); // the documents of pairs with a label
  const teaches = (i) => (labelOf(i) !== undefined ? 100 : 0) + Math.abs(logit(data.p[i]) + learned.shift) + (labelled.has(data.a[i]) || labelled.has(data.b[i]) ? 1 : 0);

  const orders = {
    teach: (i, j) => teaches(i) - teaches(j),
    doubt: (i, j) => Math.abs(data.p[i] - threshold) - Math.abs(data.p[j] - threshold),
    size: (i, j) => sizeOf(j) - sizeOf(i) || groupOf(i) - groupOf(j) || data.p[i] - data.p[j],
    high: (i, j) => data.p[j] - data.p[i] || data.s[j] - data.s[i],
    low: (i, j) => data.p[i] - data.p[j] || data.s[i] - data.s[j],
  };

  const refresh = () => {
    shown = [];
    learn();
    labelled = new Set();
    for (const i of labelledPairs()) labelled.add(data.a[i]).add(data.b[i]);
    for (let i = 0; i < n; i++) if (passes(i)) shown.push(i);
    const order = orders[$("order").value];
    shown.sort((i, j) => order(i, j) || i - j);
    $("count").textContent = shown.length.toLocaleString("en") + " of " + counted(n, "pair") +
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
      row.append(make("div", "ids", visible(data.ids[data.a[i]])), make("div", "ids", visible(data.ids[data.b[i]])));
      const about = make("div", "about", percent(data.p[i]) + " · " + data.kinds[data.k[i]] +
        (sizeOf(i) ? " · group of " + sizeOf(i) : ""));
      const mark = disagree.has(pairKey(i)) ? "labels disagree" : labelOf(i) !== undefined ? names[labelOf(i)] :
        data.p[i] >= threshold && data.p[i] < data.threshold ? "would be added" :
        data.p[i] < threshold && data.p[i] >= data.threshold ? "would be removed" : "";
      if (mark) about.append(" · ", make("span", "mark", mark));
      row.append(about);
      row.addEventListener("click", () => select(i));
      rows.set(i, row);
      list.append(row);
    }
  };

  // tokens cuts a text into words, into single characters of scripts that do not separate words, and what is between.
  const unspaced = "[" + ["Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan"].map((script) => `\\p{Script=${script}}`).join("") + "]";
  const token = new RegExp(`${unspaced}\\p{M}*|(?:(?!${unspaced})[\\p{L}\\p{N}\\p{M}_])+|\\s+|[^]`, "gu");
  const tokens = (text) => text.match(token) || [];

  // differences returns what differs between two lists of tokens: [from, to) in a and [from, to) in b, one after the other. It never gives up: runs
  // of tokens that each list has once are anchors, long ones first, and between anchors the same is done with shorter ones. What is left is small,
  // and is compared token by token; a large rest has nothing in common that could be found, so all of it differs.
  const runLengths = [32, 12, 5, 2, 1];
  const mostCells = 1e6; // tokens of a rest times those of the other: some ten milliseconds
  const differences = (wordsA, wordsB) => {
    const numbers = new Map();
    const number = (w) => numbers.get(w) ?? (numbers.set(w, numbers.size), numbers.size - 1);
    const a = Int32Array.from(wordsA, number), b = Int32Array.from(wordsB, number);
    const found = [];
    const add = (a0, a1, b0, b1) => {
      const last = found[found.length - 1];
      if (last && last[1] === a0 && last[3] === b0) { last[1] = a1; last[3] = b1; } else found.push([a0, a1, b0, b1]);
    };
    const compare = (a0, a1, b0, b1, level) => {
      while (a0 < a1 && b0 < b1 && a[a0] === b[b0]) { a0++; b0++; }
      while (a0 < a1 && b0 < b1 && a[a1 - 1] === b[b1 - 1]) { a1--; b1--; }
      if (a0 === a1 && b0 === b1) return;
      if (a0 === a1 || b0 === b1) return add(a0, a1, b0, b1);
      if ((a1 - a0) * (b1 - b0) <= mostCells) return small(a0, a1, b0, b1);
      if (level === runLengths.length) return add(a0, a1, b0, b1);
      let doneA = a0, doneB = b0;
      for (const [x, y] of anchors(a0, a1, b0, b1, runLengths[level])) {
        if (x < doneA || y < doneB) continue; // in the one before
        compare(doneA, x, doneB, y, level + 1);
        doneA = x;
        doneB = y;
        while (doneA < a1 && doneB < b1 && a[doneA] === b[doneB]) { doneA++; doneB++; }
      }
      compare(doneA, a1, doneB, b1, level + 1);
    };
    // small compares token by token.
    const small = (a0, a1, b0, b1) => {
      for (const p of Diff.diffArrays(Array.from(a.subarray(a0, a1)), Array.from(b.subarray(b0, b1)))) {
        const n = p.value.length;
        if (p.removed) { add(a0, a0 + n, b0, b0); a0 += n; } else if (p.added) { add(a0, a0, b0, b0 + n); b0 += n; } else { a0 += n; b0 += n; }
      }
    };
    // anchors returns where runs of n tokens begin that both have once, in an order that both have: the longest such sequence.
    const anchors = (a0, a1, b0, b1, n) => {
      const at = new Map(); // by a hash of the run: where it is in a, and in b; -1: not there, -2: more than once
      const runs = (list, from, to, side) => {
        for (let i = from; i + n <= to; i++) {
          let h = 0;
          for (let k = 0; k < n; k++) h = (Math.imul(h, 0x9E3779B1) + list[i + k] + 1) | 0;
          const e = at.get(h);
          if (!e) { if (side === 0) at.set(h, [i, -1]); } else e[side] = e[side] === -1 ? i : -2;
        }
      };
      runs(a, a0, a1, 0);
      runs(b, b0, b1, 1);
      const pairs = [];
      for (const [x, y] of at.values()) {
        let isSame = x >= 0 && y >= 0;
        for (let k = 0; isSame && k < n; k++) isSame = a[x + k] === b[y + k];
        if (isSame) pairs.push([x, y]);
      }
      pairs.sort((p, q) => p[0] - q[0]);
      const ends = [], before = []; // the pair at the end of the best sequence of each length
      pairs.forEach((p, i) => {
        let low = 0, high = ends.length;
        while (low < high) {
          const m = (low + high) >> 1;
          if (pairs[ends[m]][1] < p[1]) low = m + 1; else high = m;
        }
        before[i] = low ? ends[low - 1] : -1;
        ends[low] = i;
      });
      const chain = [];
      for (let i = ends.length ? ends[ends.length - 1] : -1; i >= 0; i = before[i]) chain.push(pairs[i]);
      return chain.reverse();
    };
    compare(0, a.length, 0, b.length, 0);
    return found;
  };

  // Signs that cannot be seen, or that turn the direction of what follows, are shown by their numbers.
  const unseen = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;
  const numberOf = (c) => "U+" + c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
  const visible = (text) => text.replace(unseen, (c) => "\u27e8" + numberOf(c) + "\u27e9");
  const addText = (to, text) => {
    let from = 0;
    for (const m of text.matchAll(unseen)) {
      if (m.index > from) to.append(text.slice(from, m.index));
      to.append(make("span", "unseen", numberOf(m[0])));
      from = m.index + 1;
    }
    if (from < text.length) to.append(text.slice(from));
  };

  // fill sets the two texts, with what differs marked. They stand in rows, so that what is the same stands side by side: a row ends behind a line or a
  // sentence that both have. Rows that are the same, and far from the next difference, are folded.
  const near = 2; // rows around a difference that are not folded
  const mostRow = 2000; // characters; the browser lays out only those rows of a long text that can be seen
  const longText = 500; // rows
  // cut returns the parts of a text, none of them longer than a row.
  const cut = (text) => {
    const parts = [];
    for (let from = 0; from < text.length;) {
      let to = from + mostRow;
      if (to < text.length) {
        const space = text.lastIndexOf(" ", to);
        if (space > from) to = space + 1;
        else if (/[\ud800-\udbff]/.test(text[to - 1])) to++; // not within a character
      }
      parts.push(text.slice(from, to));
      from = to;
    }
    return parts;
  };
  const fill = (a, b) => {
    const left = $("text-a"), right = $("text-b");
    const wordsA = tokens(a), wordsB = tokens(b);
    const isWord = (w) => /[\p{L}\p{N}]/u.test(w);
    const all = differences(wordsA, wordsB);
    const count = (list, from, to) => { let k = 0; for (let i = from; i < to; i++) if (isWord(list[i])) k++; return k; };
    const whole = count(wordsA, 0, wordsA.length) + count(wordsB, 0, wordsB.length);
    const other = all.reduce((k, [a0, a1, b0, b1]) => k + count(wordsA, a0, a1) + count(wordsB, b0, b1), 0);
    const rows = [];
    let row = null;
    const current = () => row || (rows.push(row = { a: make("div", "part"), b: make("div", "part"), differs: false }), row);
    // same adds text that both have, in rows of their own where a line or a sentence ends.
    const same = (text) => {
      for (const piece of text.match(/[^\n\u3002\uff01\uff1f.!?]*(?:\n+|[\u3002\uff01\uff1f]+\n*|[.!?]+\s+|[.!?]+|$)/g) || []) {
        for (const part of cut(piece)) {
          const r = current();
          addText(r.a, part);
          addText(r.b, part);
          if (part.length > mostRow / 2) row = null;
        }
        if (/[\n\u3002\uff01\uff1f]$|[.!?]\s+$/.test(piece)) row = null;
      }
    };
    let at = 0;
    for (const [a0, a1, b0, b1] of all) {
      same(wordsA.slice(at, a0).join(""));
      const gone = cut(wordsA.slice(a0, a1).join("")), come = cut(wordsB.slice(b0, b1).join(""));
      for (let k = 0; k < Math.max(gone.length, come.length); k++) {
        if (k > 0) row = null;
        const r = current();
        r.differs = true;
        for (const [name, text, to] of [["del", gone[k], r.a], ["ins", come[k], r.b]]) {
          if (text === undefined) continue;
          const mark = make(name);
          addText(mark, text);
          to.append(mark);
        }
      }
      at = a1;
    }
    same(wordsA.slice(at).join(""));
    left.replaceChildren();
    right.replaceChildren();
    const layOut = () => {
      $("sides").style.setProperty("--rows", String(left.children.length + 2));
      $("sides").classList.toggle("long", left.children.length > longText);
    };
    for (let i = 0; i < rows.length;) {
      let end = i;
      while (end < rows.length && !rows.slice(Math.max(end - near, 0), end + near + 1).some((r) => r.differs)) end++;
      if (end - i > near && a !== b) {
        const parts = rows.slice(i, end);
        const folds = [left, right].map((to) => {
          const button = make("button", "fold", `${parts.length} equal parts`);
          button.type = "button";
          button.addEventListener("click", () => {
            folds[0].replaceWith(...parts.map((r) => r.a));
            folds[1].replaceWith(...parts.map((r) => r.b));
            layOut();
          });
          to.append(button);
          return button;
        });
        i = end;
        continue;
      }
      for (end = Math.max(end, i + 1); i < end; i++) {
        left.append(rows[i].a);
        right.append(rows[i].b);
      }
    }
    layOut();
    const equal = rows.filter((r) => !r.differs).length;
    $("shares").textContent = whole ? `${((1 - other / whole) * 100).toFixed(0)} % of their words occur in both, in the same order; ${equal} of ${rows.length} lines and sentences are equal; the texts differ in ${counted(all.length, "place")}.` : "";
    change = -1;
  };

  // goTo shows the next difference, or the one before.
  let change = -1;
  const goTo = (by) => {
    const all = [...document.querySelectorAll("#sides del, #text-b ins")];
    const tops = all.map((e) => e.getBoundingClientRect().top);
    const places = all.map((_, i) => i).sort((i, j) => tops[i] - tops[j]).filter((i, k, list) => !k || tops[i] - tops[list[k - 1]] > 4);
    if (!places.length) return;
    change = Math.min(Math.max(change + by, 0), places.length - 1);
    for (const e of all) e.classList.remove("current");
    all[places[change]].classList.add("current");
    all[places[change]].scrollIntoView({ block: "center" });
  };

  // drawReasons draws what a probability comes from: each bar begins where the one before it ends.
  const drawReasons = (why, p) => {
    const body = $("features");
    body.replaceChildren();
    let sum = 0, low = 0, high = 0;
    for (let k = 1; k < why.length; k += 2) {
      sum += why[k];
      low = Math.min(low, sum);
      high = Math.max(high, sum);
    }
    const at = (x) => (x - low) / (high - low || 1) * 100;
    const signed = (x) => (x > 0 ? "+" : "") + x.toFixed(2);
    const add = (what, from, to, value, className) => {
      const row = make("tr", className), cell = make("td", "bars"), track = make("div", "track");
      const zero = make("div", "zero"), bar = make("div", to >= from ? "for" : "against");
      zero.style.left = at(0) + "%";
      bar.style.left = at(Math.min(from, to)) + "%";
      bar.style.width = Math.abs(at(to) - at(from)) + "%";
      track.append(zero, bar);
      cell.append(track);
      row.append(make("td", "", visible(what)), cell, make("td", "", value));
      body.append(row);
    };
    sum = 0;
    for (let k = 0; k < why.length; k += 2) {
      add(why[k], sum, sum + why[k + 1], signed(why[k + 1]), "");
      sum += why[k + 1];
    }
    if (why.length) add(`total, a probability of ${p.toFixed(4)}`, 0, sum, signed(sum), "sum");
  };

  const select = async (i) => {
    selected = i;
    drawRows();
    if (i < 0) return;
    for (const [side, doc] of [["a", data.a[i]], ["b", data.b[i]]]) {
      $("id-" + side).textContent = visible(data.ids[doc]);
      const [number, size, kept] = data.groups[doc];
      $("at-" + side).textContent = data.places[doc] + (number ? ` · group ${number}, of ${size} documents` + (kept ? ", kept" : "") : "");
    }
    $("says").textContent = `probability ${data.p[i].toFixed(4)}, similarity ${data.s[i].toFixed(4)}, ${data.kinds[data.k[i]]}`;
    const g = groupOf(i);
    $("onegroup").hidden = !g && !group;
    $("onegroup").textContent = group ? "show all groups" : `show only group ${g}`;
    drawLabel();
    const why = data.why[i] || [];
    drawReasons(why, data.p[i]);
    let most = -1; // the reason that adds most, besides what is known of any pair
    for (let k = 0; k < why.length; k += 2) if (why[k] !== data.prior && (most < 0 || Math.abs(why[k + 1]) > Math.abs(why[most + 1]))) most = k;
    $("because").textContent = "Why this probability" + (most >= 0 ? `: mainly ${why[most]}, ${why[most + 1] > 0 ? "for" : "against"}` : "");
    $("nowhy").textContent = why.length ? "" : "This page has the reasons for the most doubtful pairs only; neardup explain shows them for any pair.";
    const [a, b] = await Promise.all([textOf(data.a[i]), textOf(data.b[i])]);
    if (selected === i) {
      fill(a, b);
      drawGroup();
    }
  };

  // The group of a pair: all its members in this page, which of them is kept, and what somebody has decided otherwise.
  let isGroup = false; // it is shown instead of the pair
  const membersOf = (g) => {
    const members = [];
    data.groups.forEach((group, doc) => { if (group[0] === g) members.push(doc); });
    return members;
  };
  const keeperOf = (members) => members.find((doc) => data.groups[doc][2]);
  const keptOf = (members) => {
    const keeper = keeperOf(members), chosen = keeper === undefined ? undefined : choices[data.ids[keeper]];
    const found = members.find((doc) => data.ids[doc] === chosen);
    return found === undefined ? keeper : found;
  };
  const between = (doc, members) => { // the pairs of a document with other members
    const others = new Set(members), pairs = [];
    for (let i = 0; i < n; i++) {
      if (data.a[i] === doc && others.has(data.b[i]) || data.b[i] === doc && others.has(data.a[i])) pairs.push(i);
    }
    return pairs;
  };
  const drawGroup = async () => {
    const g = selected < 0 ? 0 : groupOf(selected);
    $("view").disabled = !g;
    if (!g) isGroup = false;
    $("view").setAttribute("aria-pressed", String(isGroup));
    $("group").hidden = !isGroup;
    for (const id of ["sides", "why"]) $(id).hidden = isGroup;
    if (!isGroup) return;
    const mine = selected, members = membersOf(g), kept = keptOf(members);
    const texts = await Promise.all(members.map(textOf));
    if (mine !== selected || !isGroup) return;
    const size = data.groups[members[0]][1];
    $("group-says").textContent = `Group ${g}: ${size} documents` + (size > members.length ? `, ${members.length} of them in this page` : "") +
      `. Your choices are saved with the labels; neardup rethreshold --labels reads them.`;
    $("members").replaceChildren(...members.map((doc, k) => {
      const pairs = between(doc, members);
      const isSplit = pairs.length > 0 && pairs.every((i) => labelOf(i) === false);
      const card = make("div", "member" + (doc === kept ? " kept" : "") + (isSplit ? " split" : ""));
      const withKept = pairs.find((i) => data.a[i] === kept || data.b[i] === kept);
      const about = [data.places[doc]];
      if (doc === kept) about.push(kept === keeperOf(members) ? "kept" : "kept, as you chose");
      else if (withKept !== undefined) about.push(`probability ${percent(data.p[withKept])}, ${data.kinds[data.k[withKept]]}`);
      if (isSplit) about.push("split off");
      const beginning = make("div", "beginning");
      addText(beginning, texts[k].slice(0, 400) + (texts[k].length > 400 ? "…" : ""));
      const acts = make("div", "acts");
      const act = (name, what) => {
        const button = make("button", "", name);
        button.type = "button";
        button.addEventListener("click", what);
        acts.append(button);
      };
      if (doc !== kept) {
        if (!isSplit) act("Keep this one", () => choose(members, doc));
        if (pairs.length) act(isSplit ? "Put it back" : "Split off", () => split(pairs, isSplit ? undefined : false));
        if (withKept !== undefined) act("Compare", () => { isGroup = false; select(withKept); });
      }
      card.append(make("h3", "", visible(data.ids[doc])), make("div", "about", about.join(" · ")), beginning, acts);
      return card;
    }));
  };

  // remember keeps what there was, for undo.
  const remember = (keys) => undone.push({ pair: selected, isGroup, labels: keys.map((key) => [key, labels[key], disagree.has(key)]), choices: { ...choices } });

  // choose keeps another document of a group.
  const choose = (members, doc) => {
    remember([]);
    const keeper = data.ids[keeperOf(members)];
    if (data.ids[doc] === keeper) delete choices[keeper]; else choices[keeper] = data.ids[doc];
    changed();
    drawGroup();
  };

  // split labels all pairs of a document with the others of its group.
  const split = (pairs, label) => {
    remember(pairs.map(pairKey));
    for (const i of pairs) setKey(pairKey(i), label);
    changed();
    drawGroup();
  };

  // changed keeps labels and choices, and draws what depends on them.
  const changed = () => {
    keep();
    drawLabel();
    drawChart();
    drawRows();
  };

  const drawLabel = () => {
    const label = selected < 0 ? undefined : labelOf(selected);
    for (const [id, value] of [["same", true], ["different", false], ["unsure", "unsure"]]) $(id).setAttribute("aria-pressed", String(label === value));
    const all = Object.values(labels), chosen = Object.keys(choices).length;
    $("save").textContent = `Save labels (${all.length + chosen})`;
    $("undo").disabled = !undone.length;
    const count = (value) => all.filter((x) => x === value).length;
    $("progress").textContent = all.length ? `${count(true)} same, ${count(false)} different, ${count("unsure")} unsure` +
      (disagree.size ? `; ${disagree.size} to label again` : "") + saysLearned() : "";
  };

  // saysLearned says where the labels put the border, and how many more make that certain: until its standard error is one half. A label that
  // teaches most tells 0.2 or so, and never more than 0.25.
  const saysLearned = () => {
    learn();
    if (!learned.labels) return "";
    const more = Math.max(Math.ceil((4 - learned.info) / 0.2), 0);
    return `. By these labels, the threshold is about ${percent(odds(-learned.shift))}` + (more ? `; about ${counted(more, "more label")} would settle it` : "");
  };

  // setKey sets the label of a pair.
  const setKey = (key, label) => {
    if (label === undefined) delete labels[key]; else labels[key] = label;
  };

  // setLabel labels the selected pair and goes to the next one.
  const setLabel = (label) => {
    if (selected < 0) return;
    const key = pairKey(selected);
    remember([key]);
    setKey(key, label);
    disagree.delete(key);
    changed();
    if (label === undefined) return;
    if ($("order").value === "teach") { // the next one is the one that now teaches most
      refresh();
      if (shown.length) select(shown[0]);
    } else step(1);
  };

  // undo takes back what was done last, and shows its pair.
  const undo = () => {
    const last = undone.pop();
    if (!last) return;
    for (const [key, before, disagreed] of last.labels) { setKey(key, before); if (disagreed) disagree.add(key); }
    choices = last.choices;
    isGroup = last.isGroup;
    changed();
    select(last.pair);
  };

  // load adds the labels of files. Where two of them disagree, nobody is right: the pair is to be judged again.
  const load = async (files) => {
    undone.length = 0; // what is loaded is not undone
    let loaded = 0, wrong = 0;
    for (const file of files) {
      for (const line of (await file.text()).split("\n")) {
        if (!line.trim()) continue;
        let x = null;
        try { x = JSON.parse(line); } catch { /* no label */ }
        if (x && typeof x.keep === "string" && typeof x.instead === "string") {
          choices[x.instead] = x.keep;
          loaded++;
          continue;
        }
        const label = x && x.unsure === true ? "unsure" : x && x.same;
        if (!x || x.a === undefined || x.b === undefined || !Object.hasOwn(names, label)) { wrong++; continue; }
        const there = JSON.stringify([String(x.a), String(x.b)]), turned = JSON.stringify([String(x.b), String(x.a)]);
        const key = known.has(turned) ? turned : there;
        if (labels[key] !== undefined && labels[key] !== label) {
          delete labels[key];
          disagree.add(key);
        } else if (!disagree.has(key)) labels[key] = label;
        loaded++;
      }
    }
    keep();
    refresh();
    drawChart();
    drawLabel();
    drawGroup();
    $("loaded").textContent = `${counted(loaded, "label")} loaded` + (wrong ? `, ${counted(wrong, "invalid line")} skipped` : "") + (disagree.size ? `; ${counted(disagree.size, "pair")} with conflicting labels` : "");
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
    const lines = Object.entries(labels).map(([key, label]) => {
      const [a, b] = JSON.parse(key);
      return JSON.stringify(label === "unsure" ? { a, b, unsure: true } : { a, b, same: label }) + "\n";
    });
    for (const [instead, keep] of Object.entries(choices)) lines.push(JSON.stringify({ keep, instead }) + "\n");
    const link = make("a");
    link.href = URL.createObjectURL(new Blob(lines, { type: "application/jsonl" }));
    link.download = "labels.jsonl";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  // expected returns the precision and the recall that a border has if the probabilities are right: of pairs with the probability p
  // that share is duplicates.
  const steps = data.curve || [];
  const expected = (border) => {
    let found = 0, right = 0, all = 0;
    const add = (p, count) => {
      all += p * count;
      if (p >= border) { found += count; right += p * count; }
    };
    const isWhole = !data.left; // all pairs from data.least on are in the page
    for (let i = 0; isWhole && i < n; i++) add(data.p[i], 1);
    steps.forEach((count, i) => { if (!isWhole || (i + 1) / steps.length <= data.least + 1e-9) add((i + 0.5) / steps.length, count); });
    return { precision: found ? right / found : 1, recall: all ? right / all : 1 };
  };

  // drawChart draws the number of pairs by probability, with what is expected of each border, the border, and the labelled pairs.
  const height = 132, left = 40, right = 34, top = 22, floor = 88, axis = 102;
  let curves = null; // what is expected of a hundred borders
  const drawChart = () => {
    const chart = $("chart"), width = Math.max(chart.clientWidth, 240);
    chart.setAttribute("viewBox", `0 0 ${width} ${height}`);
    chart.replaceChildren();
    const draw = (name, attributes, text) => {
      const e = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
      if (text !== undefined) e.textContent = text;
      chart.append(e);
    };
    const x = (p) => left + p * (width - left - right), y = (share) => floor - share * (floor - top);
    let counts = data.curve;
    if (!counts) {
      counts = new Array(20).fill(0);
      for (let i = 0; i < n; i++) counts[Math.min(19, Math.floor(data.p[i] * 20))]++;
    }
    const most = Math.max(1, ...counts);
    counts.forEach((count, i) => {
      const tall = Math.sqrt(count / most) * (floor - top);
      draw("rect", { x: x(i / counts.length) + 1, width: Math.max(x(1 / counts.length) - x(0) - 2, 1), y: floor - tall, height: tall });
    });
    draw("line", { class: "axis", x1: left, x2: width - right, y1: floor + 0.5, y2: floor + 0.5 });
    for (const share of [0, 0.5, 1]) { // heights are square roots, so that few pairs can be seen beside many
      draw("text", { x: left - 5, y: y(share) + 3, "text-anchor": "end" }, Math.round(most * share * share).toLocaleString("en", { notation: "compact" }));
      draw("text", { x: width - right + 5, y: y(share) + 3 }, String(share));
    }
    for (const p of [0, 0.25, 0.5, 0.75, 1]) {
      draw("line", { class: "axis", x1: x(p), x2: x(p), y1: axis - 2, y2: axis + 2 });
      draw("text", { x: x(p), y: axis + 13, "text-anchor": "middle" }, String(p));
    }
    draw("text", { x: x(0.5), y: height - 4, "text-anchor": "middle" }, "probability");
    draw("text", { x: 0, y: 9 }, "pairs");
    if (!curves) {
      curves = [];
      for (let k = 0; k <= 100; k++) curves.push([k / 100, expected(k / 100)]);
    }
    for (const name of ["precision", "recall"]) draw("polyline", { class: name, points: curves.map(([p, e]) => `${x(p)},${y(e[name])}`).join(" ") });
    draw("text", { class: "precision", x: width - right - 50, y: 9, "text-anchor": "end" }, "precision");
    draw("text", { class: "recall", x: width - right, y: 9, "text-anchor": "end" }, "recall");
    draw("line", { class: "was", x1: x(data.threshold), x2: x(data.threshold), y1: top, y2: floor });
    draw("line", { class: "threshold", x1: x(threshold), x2: x(threshold), y1: top, y2: floor });
    for (const i of labelledPairs()) draw("line", { class: names[labelOf(i)], x1: x(data.p[i]), x2: x(data.p[i]), y1: floor + 2, y2: axis - 3 });
  };

  const drawThreshold = () => {
    $("at").textContent = percent(threshold);
    let now = 0, was = 0;
    for (let i = 0; i < n; i++) {
      if (data.p[i] >= threshold) now++;
      if (data.p[i] >= data.threshold) was++;
    }
    const change = now === was ? "" : now > was ? `; ${(now - was).toLocaleString("en")} would be added` : `; ${(was - now).toLocaleString("en")} would be removed`;
    const below = threshold < data.least ? ` This page only has pairs at ${percent(data.least)} or more.` : "";
    const e = expected(threshold);
    $("effect").textContent = `At ${percent(threshold)} or more: ${counted(now, "pair")}${change}; expected precision ${percent(e.precision)}, expected recall ${percent(e.recall)}.${below}`;
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
    for (let doc = 0; doc < (data.ids || []).length; doc++) {
      const text = await textOf(doc);
      if (mine !== searching) return;
      if (data.ids[doc].toLowerCase().includes(what) || text.toLowerCase().includes(what)) has.add(doc);
    }
    found = has;
    refresh();
  };

  // Begin.
  $("summary").textContent = `${data.documents.toLocaleString("en")} documents. ${data.reason}. ${data.made}`;
  const families = data.families || [];
  if (families.length) {
    $("families").hidden = false;
    $("families").querySelector("summary").textContent = families.length === 1 ? "1 form that is filled in differently" : families.length.toLocaleString("en") + " forms that are filled in differently";
    $("families").querySelector("ul").append(...families.map((f) => make("li", "", visible(`${f.members} documents` + (f.form ? ` share the form: ${f.form}` : "") +
      (f.filled ? `; filled in, for example, with ${f.filled.join(" / ")}` : "")))));
  }
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
  addEventListener("resize", () => { drawRows(); drawChart(); });
  $("previous").addEventListener("click", () => step(-1));
  $("next").addEventListener("click", () => step(1));
  $("change").addEventListener("click", () => goTo(1));
  const toggleGroup = () => {
    isGroup = !isGroup && selected >= 0 && groupOf(selected) > 0;
    drawGroup();
  };
  $("view").addEventListener("click", toggleGroup);
  $("same").addEventListener("click", () => setLabel(true));
  $("different").addEventListener("click", () => setLabel(false));
  $("unsure").addEventListener("click", () => setLabel("unsure"));
  $("clear").addEventListener("click", () => setLabel(undefined));
  $("undo").addEventListener("click", undo);
  $("load").addEventListener("click", () => $("files").click());
  $("files").addEventListener("change", () => load($("files").files));
  $("save").addEventListener("click", save);
  addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
    const act = { j: () => step(1), ArrowDown: () => step(1), k: () => step(-1), ArrowUp: () => step(-1), n: () => goTo(1), p: () => goTo(-1), s: () => setLabel(true), d: () => setLabel(false), w: () => setLabel("unsure"), u: () => setLabel(undefined), z: undo, g: toggleGroup }[e.key];
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
