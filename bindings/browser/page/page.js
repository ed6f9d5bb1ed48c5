// The page: it asks the worker, and shows what it says. Texts are only ever shown as text.
"use strict";
const $ = (id) => document.getElementById(id);
const most = 20000; // texts of a file; more is work for the program neardup
const shown = 200; // groups

// The worker and the program are parts of the page, so that it works from a disk.
const source = new Blob([$("worker").textContent], { type: "text/javascript" });
const worker = new Worker(URL.createObjectURL(source));
const waiting = new Map();
let number = 0;

function ask(call, ...args) {
  return new Promise((resolve, reject) => {
    waiting.set(++number, (result) => (result.error ? reject(new Error(result.error)) : resolve(result)));
    worker.postMessage({ number, call, args });
  });
}

worker.onmessage = ({ data }) => {
  if (data.progress) {
    showProgress(data.progress);
    return;
  }
  waiting.get(data.number)(data.result);
  waiting.delete(data.number);
};
worker.onerror = (event) => fail(new Error(event.message));

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
  "identical": "they are identical", "same-words": "they have the same words", "same-form": "they are one form, filled in differently",
  "same-but-figures": "only figures differ", "contained": "one contains the other", "revised": "one is a revision of the other",
};

// marked shows a text with parts of it marked: from and to in bytes of UTF-8.
function marked(text, parts) {
  const bytes = new TextEncoder().encode(text), decoder = new TextDecoder(), box = element("div", "", "text");
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
  const r = await ask("compare", a, b);
  window.lastComparison = r;
  const inA = [], inB = [];
  for (let i = 0; i < r.shared.length; i += 4) {
    inA.push(r.shared.slice(i, i + 2));
    inB.push(r.shared.slice(i + 2, i + 4));
  }
  const answer = r.duplicate ? `Near-duplicates: ${kinds[r.kind] || r.kind}.` : "No near-duplicates.";
  const jaccard = Number.isNaN(r.jaccard) ? "" : `; by MinHash they share about ${percent(r.jaccard)} of their pairs of words`;
  const both = element("div", "", "two");
  both.append(marked(a, inA), marked(b, inB));
  $("answer").replaceChildren(
    element("p", answer, "answer"),
    element("p", `The probability is ${percent(r.probability)}, and the similarity ${percent(r.similarity)}.`),
    element("p", `The SimHash fingerprints ${r.fingerprints[0]} and ${r.fingerprints[1]} differ in ${r.distance} of 64 bits${jaccard}. Below, runs of five words, or eight characters of Chinese and the like, that stand in both.`, "more"),
    both,
  );
}

function showProgress({ stage, done, total }) {
  $("progress").hidden = false;
  $("progress").value = total > 0 ? done / total : 0;
  $("stage").textContent = `${stage}, ${done} of ${total}`;
}

// textsOf returns what the worker gets of a file, and its lines for showing them.
function textsOf(name, bytes) {
  const lines = new TextDecoder().decode(bytes).split("\n").map((line) => line.replace(/\r+$/, ""));
  if (lines[lines.length - 1] === "") lines.pop();
  if (!/\.(jsonl|ndjson)$/i.test(name)) return { send: bytes, texts: lines, lines };
  const texts = lines.map((line, i) => {
    let text;
    try {
      text = JSON.parse(line).text;
    } catch (error) {
      throw new Error(`line ${i + 1}: ${error.message}`);
    }
    if (typeof text !== "string") throw new Error(`line ${i + 1}: there is no field "text"`);
    return text;
  });
  return { send: texts, texts, lines };
}

async function readFile(file) {
  $("groups").replaceChildren();
  $("summary").textContent = "";
  $("downloads").hidden = true;
  const { send, texts, lines } = textsOf(file.name, new Uint8Array(await file.arrayBuffer()));
  if (texts.length > most) throw new Error(`${file.name} has ${texts.length} texts; this page takes ${most}. The program neardup takes any number.`);
  const start = performance.now();
  const r = await ask("groups", send);
  window.lastGroups = r;
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
  $("summary").textContent = `${texts.length} texts, ${dropped.size} duplicates in ${groups.size} groups; ${texts.length - dropped.size} are left without them (${seconds} s)`;
  save("kept", lines.filter((_, i) => !dropped.has(i)).join("\n") + "\n");
  save("table", "group\tline\tkept line\tsimilarity\tprobability\tkind\n" + [...groups].map(([n, members]) => members.map((m) => `${+n + 1}\t${m.id + 1}\t${m.keep + 1}\t${m.similarity}\t${m.probability}\t${m.kind}\n`).join("")).join(""));
  $("downloads").hidden = false;
  const largest = [...groups.values()].sort((x, y) => y.length - x.length);
  for (const members of largest.slice(0, shown)) {
    const box = element("div", "", "group");
    for (const m of members.slice(0, 20)) {
      const text = texts[m.id], isKept = m.id === m.keep, row = element("div", "", isKept ? "member kept" : "member");
      row.append(element("span", `line ${m.id + 1}`), element("span", isKept ? "kept" : `${percent(m.probability)}, ${m.kind}`), element("span", text.length > 300 ? text.slice(0, 300) + "…" : text));
      box.append(row);
    }
    if (members.length > 20) box.append(element("p", `and ${members.length - 20} more`, "more"));
    $("groups").append(box);
  }
  if (largest.length > shown) $("groups").append(element("p", `The ${shown} largest of ${largest.length} groups; the table has all.`, "more"));
}

function save(id, text) {
  URL.revokeObjectURL($(id).href);
  window.saved = { ...window.saved, [id]: text };
  $(id).href = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
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
    $("progress").hidden = true;
    $("stage").textContent = "";
  } finally {
    $("compare").disabled = $("input").disabled = false;
  }
}

$("tab-texts").onclick = () => select("texts");
$("tab-file").onclick = () => select("file");
$("compare").onclick = () => once(compare);
$("input").onchange = () => $("input").files.length > 0 && once(() => readFile($("input").files[0]));

once(async () => {
  const binary = atob($("program").textContent.trim()), bytes = Uint8Array.from(binary, (c) => c.charCodeAt(0));
  const { version } = await ask("start", bytes);
  $("version").textContent = `Version: ${version}`;
  document.body.dataset.ready = "yes";
});
