// The page: it asks the worker, and shows what it says. Texts are only ever shown as text.
"use strict";
const $ = (id) => document.getElementById(id);
const most = 20000, mostBytes = 100e6; // of a file; more is work for the program neardup
const shown = 200; // groups

// The worker and the program are parts of the page, so that it works from a disk.
const source = new Blob([$("worker").textContent], { type: "text/javascript" });
const worker = new Worker(URL.createObjectURL(source));
const waiting = new Map();
let number = 0;

function ask(call, ...args) {
  return new Promise((resolve, reject) => {
    waiting.set(++number, { resolve, reject });
    worker.postMessage({ number, call, args });
  });
}

worker.onmessage = ({ data }) => {
  if (data.progress) {
    showProgress(data.progress);
    return;
  }
  const { resolve, reject } = waiting.get(data.number);
  waiting.delete(data.number);
  if (data.result.error) reject(new Error(data.result.error));
  else resolve(data.result);
};
worker.onerror = (event) => {
  for (const { reject } of waiting.values()) reject(new Error(event.message));
  waiting.clear();
};

function fail(error) {
  $("alert").textContent = error.message;
}

function element(name, text, className) {
  const e = document.createElement(name);
  e.textContent = text;
  if (className) e.className = className;
  return e;
}

const percent = (x) => `${(100 * x).toFixed(1)} %`;
const kinds = {
  "identical": "they are identical", "same-words": "they have the same words", "same-form": "they are the same form, filled in differently",
  "same-except-numbers": "only numbers differ", "contained": "one contains the other", "revised": "one is a revision of the other",
};

// marked shows a text with parts of it marked: from and to in bytes of UTF-8.
function marked(text, parts) {
  const bytes = new TextEncoder().encode(text), decoder = new TextDecoder("utf-8", { ignoreBOM: true }), box = element("div", "", "text");
  parts.sort((x, y) => x[0] - y[0]);
  let at = 0;
  for (const [from, to] of parts) {
    if (to <= at) continue;
    const begin = Math.max(from, at);
    box.append(decoder.decode(bytes.subarray(at, begin)), element("mark", decoder.decode(bytes.subarray(begin, to))));
    at = to;
  }
  box.append(decoder.decode(bytes.subarray(at)));
  return box;
}

async function compare() {
  const a = $("a").value, b = $("b").value;
  $("answer").replaceChildren(element("p", "Comparing …", "answer"));
  const r = await ask("compare", a, b);
  window.lastComparison = r;
  const inA = [], inB = [];
  for (let i = 0; i < r.shared.length; i += 4) {
    inA.push(r.shared.slice(i, i + 2));
    inB.push(r.shared.slice(i + 2, i + 4));
  }
  const answer = r.duplicate ? `Near-duplicates: ${kinds[r.kind] || r.kind}.` : "Not near-duplicates.";
  const jaccard = Number.isNaN(r.jaccard) ? "" : `; according to MinHash, they share about ${percent(r.jaccard)} of their pairs of words`;
  const both = element("div", "", "two");
  both.append(marked(a, inA), marked(b, inB));
  $("answer").replaceChildren(
    element("p", answer, "answer"),
    element("p", `The probability is ${percent(r.probability)}, and the similarity ${percent(r.similarity)}.`),
    element("p", `The SimHash fingerprints ${r.fingerprints[0]} and ${r.fingerprints[1]} differ in ${r.distance} of 64 bits${jaccard}. Below, runs of five words, or eight characters in Chinese and similar scripts, that occur in both are highlighted.`, "more"),
    both,
  );
}

function showProgress({ stage, done, total }) {
  $("progress").hidden = false;
  $("progress").value = total > 0 ? done / total : 0;
  $("stage").textContent = `${stage}, ${done} of ${total}`;
}

// linesOf returns where the lines of a file begin and end, in bytes: without the line end, and with it.
function linesOf(bytes) {
  const lines = [];
  let begin = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0; // a byte order mark
  while (begin < bytes.length) {
    const at = bytes.indexOf(10, begin), next = at < 0 ? bytes.length : at + 1;
    let end = at < 0 ? next : at;
    while (end > begin && bytes[end - 1] === 13) end--;
    lines.push({ begin, end, next });
    begin = next;
  }
  return lines;
}

// textsOf returns the texts of a file, what the worker gets of it, and for each line the number of its text, or undefined.
function textsOf(name, bytes) {
  if (/\.(json|gz|zst|bz2|zip|parquet|arrow|xlsx|csv|pdf|docx)$/i.test(name)) throw new Error(`${name}: this page reads lines of text (.txt) and JSON lines (.jsonl). The program neardup reads more formats.`);
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) throw new Error(`${name} is UTF-16; save it as UTF-8`);
  const lines = linesOf(bytes), decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const decoded = lines.map(({ begin, end }) => decoder.decode(bytes.subarray(begin, end)));
  if (!/\.(jsonl|ndjson)$/i.test(name)) return { send: bytes, texts: decoded, lines, of: lines.map((_, i) => i) };
  const texts = [], of = [], from = [];
  decoded.forEach((line, i) => {
    if (line.trim() === "") {
      of.push(undefined);
      return;
    }
    let object;
    try {
      object = JSON.parse(line);
    } catch (error) {
      throw new Error(`line ${i + 1}: ${error.message}`);
    }
    if (typeof object?.text !== "string") throw new Error(`line ${i + 1}: there is no field "text" with a string`);
    of.push(texts.length);
    from.push(i);
    texts.push(object.text);
  });
  return { send: texts, texts, lines, of, from };
}

async function readFile(file) {
  $("groups").replaceChildren();
  $("summary").textContent = "";
  $("downloads").hidden = true;
  if (file.size > mostBytes) throw new Error(`${file.name} has ${Math.round(file.size / 1e6)} MB; this page accepts up to ${mostBytes / 1e6} MB. The program neardup has no limit.`);
  const bytes = new Uint8Array(await file.arrayBuffer());
  const { send, texts, lines, of, from } = textsOf(file.name, bytes);
  const lineOf = (n) => (from ? from[n] : n) + 1;
  if (texts.length > most) throw new Error(`${file.name} has ${texts.length} texts; this page accepts up to ${most}. The program neardup has no limit.`);
  const start = performance.now();
  const r = await ask("groups", send);
  window.lastGroups = r;
  if (r.texts !== texts.length) throw new Error(`${r.texts} texts were read, not ${texts.length}`);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const groups = new Map(), dropped = new Set();
  for (const line of r.members.split("\n").slice(0, -1)) {
    const [group, id, keep, similarity, probability, kind] = line.split("\t");
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push({ id: +id, keep: +keep, similarity: +similarity, probability: +probability, kind });
    if (id !== keep) dropped.add(+id);
  }
  $("progress").hidden = true;
  $("stage").textContent = "";
  const count = (n, one) => `${n} ${one}${n === 1 ? "" : "s"}`;
  $("summary").textContent = `${count(texts.length, "text")}, ${count(dropped.size, "duplicate")} in ${count(groups.size, "group")}; ${texts.length - dropped.size} left without them (${seconds} s)`;
  const kept = lines.filter((_, i) => !dropped.has(of[i])).map(({ begin, next }) => bytes.subarray(begin, next)); // byte for byte
  save("kept", [bytes.subarray(0, lines.length > 0 ? lines[0].begin : 0), ...kept]);
  $("kept").download = "kept" + (/\.[^.]+$/.exec(file.name)?.[0] ?? ".txt");
  save("table", ["group\tline\tkept line\tsimilarity\tprobability\tkind\n" + [...groups].map(([n, members]) => members.map((m) => `${+n + 1}\t${lineOf(m.id)}\t${lineOf(m.keep)}\t${m.similarity}\t${m.probability}\t${m.kind}\n`).join("")).join("")]);
  $("downloads").hidden = false;
  const largest = [...groups.values()].sort((x, y) => y.length - x.length);
  for (const members of largest.slice(0, shown)) {
    const box = element("div", "", "group");
    for (const m of members.slice(0, 20)) {
      const text = texts[m.id], isKept = m.id === m.keep, row = element("div", "", isKept ? "member kept" : "member");
      row.append(element("span", `line ${lineOf(m.id)}`), element("span", isKept ? "kept" : `${percent(m.probability)}, ${m.kind}`), element("span", text.length > 300 ? text.slice(0, 300) + "…" : text));
      box.append(row);
    }
    if (members.length > 20) box.append(element("p", `and ${members.length - 20} more`, "more"));
    $("groups").append(box);
  }
  if (largest.length > shown) $("groups").append(element("p", `The ${shown} largest of ${largest.length} groups; the table has all of them.`, "more"));
}

function save(id, parts) {
  const file = new Blob(parts, { type: "text/plain" });
  window.saved = { ...window.saved, [id]: file };
  URL.revokeObjectURL($(id).href);
  $(id).href = URL.createObjectURL(file);
}

function select(tab) {
  for (const name of ["texts", "file"]) {
    $(name).hidden = name !== tab;
    $(`tab-${name}`).setAttribute("aria-selected", name === tab);
  }
}

// once runs f, says what went wrong, and lets nobody ask for more meanwhile.
async function once(f) {
  $("alert").textContent = "";
  $("compare").disabled = $("input").disabled = true;
  try {
    await f();
  } catch (error) {
    fail(error);
    if ($("answer").textContent === "Comparing …") $("answer").replaceChildren();
    $("progress").hidden = true;
    $("stage").textContent = "";
  } finally {
    $("compare").disabled = $("input").disabled = false;
  }
}

$("tab-texts").onclick = () => select("texts");
$("tab-file").onclick = () => select("file");
$("compare").onclick = () => once(compare);
$("input").onchange = () => {
  const file = $("input").files[0];
  $("input").value = ""; // so that the same file can be chosen again
  if (file) once(() => readFile(file));
};

once(async () => {
  const binary = atob($("program").textContent.trim()), bytes = Uint8Array.from(binary, (c) => c.charCodeAt(0));
  const { version } = await ask("start", bytes);
  $("version").textContent = `Version: ${version}`;
  document.body.dataset.ready = "yes";
});
