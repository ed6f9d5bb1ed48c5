// Runs neardup beside the page. Each message names a function and its arguments; the answer has the number of the message.
"use strict";
let ready;

async function start(program) {
  const packed = new Blob([program]).stream();
  const bytes = await new Response(packed.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  const go = new Go();
  const { instance } = await WebAssembly.instantiate(bytes, go.importObject);
  go.run(instance); // it does not end
  return neardup;
}

onmessage = async ({ data: { number, call, args } }) => {
  try {
    if (call === "start") {
      ready = start(args[0]);
      postMessage({ number, result: { version: (await ready).version } });
      return;
    }
    const n = await ready;
    const progress = (stage, done, total) => postMessage({ progress: { stage, done, total } });
    const result = call === "groups" ? n.groups(args[0], progress) : n[call](...args);
    if (result === undefined) throw new Error("the program stopped, perhaps because it ran out of memory; reload the page");
    postMessage({ number, result });
  } catch (error) {
    postMessage({ number, result: { error: String(error) } });
  }
};
