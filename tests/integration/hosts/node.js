// A JIT at work: hot loops, a thread of its own, compiled WebAssembly, compression, a child; ends with a status of its own.
const {Worker, isMainThread, parentPort} = require('worker_threads');
const {execSync} = require('child_process');
const crypto = require('crypto');
const zlib = require('zlib');

// add(a, b) of 32-bit integers.
const ADD = [0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 127, 127, 1, 127, 3, 2, 1, 0, 7, 7, 1, 3, 97, 100, 100, 0, 0,
  10, 9, 1, 7, 0, 32, 0, 32, 1, 106, 11];
const STATUS = 7;

function loop(count) {
  let sum = 0;
  for (let i = 0; i < count; i++) {
    sum += (i * 7) % 13 + Math.sqrt(i);
  }
  return sum;
}

function main() {
  console.log('loop', loop(3e6));
  const list = [];
  for (let i = 0; i < 200000; i++) {
    list.push({i, text: 'x'.repeat(i % 50)});
  }
  console.log('objects', list.length, list.reduce((sum, item) => sum + item.text.length, 0));
  const packed = zlib.gzipSync(Buffer.alloc(1 << 20, 'abc'));
  console.log('unpacked', crypto.createHash('sha256').update(zlib.gunzipSync(packed)).digest('hex'));
  console.log('child', execSync('echo from the child').toString());
  const worker = new Worker(__filename);
  worker.on('message', (sum) => console.log('worker', sum));
  worker.on('exit', (code) => {
    console.log('worker ended', code);
    WebAssembly.instantiate(new Uint8Array(ADD)).then((wasm) => {
      console.log('wasm', wasm.instance.exports.add(2, 3));
      process.exitCode = STATUS;
    });
  });
}

if (isMainThread) {
  main();
} else {
  parentPort.postMessage(loop(1e6));
}
