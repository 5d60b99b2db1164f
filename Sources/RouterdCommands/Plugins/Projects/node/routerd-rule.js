// The protocol of routerd's process rules: length-prefixed JSON on standard input and output.
"use strict";
const { Console } = require("node:console");

function write(message) {
  const body = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  process.stdout.write(Buffer.concat([head, body]));
}

// Calls decide(notification, candidates, settings) for each question; it returns a list of verdicts.
function serve(version, decide) {
  // Standard output has the messages alone: console.log() goes to standard error, and so to the log.
  globalThis.console = new Console(process.stderr);
  let buffer = Buffer.alloc(0);
  let settings = {};
  process.stdin.on("data", (bytes) => {
    buffer = Buffer.concat([buffer, bytes]);
    while (buffer.length >= 4 && buffer.length >= 4 + buffer.readUInt32BE(0)) {
      const length = buffer.readUInt32BE(0);
      const message = JSON.parse(buffer.subarray(4, 4 + length));
      buffer = buffer.subarray(4 + length);
      if (message.type === "hello") {
        if (message.protocol !== 1) throw new Error("this plugin speaks version 1 of the protocol");
        settings = message.settings;
        // The name of the configuration, so that several rules may run this program.
        write({ type: "ready", protocol: 1, kind: "rule", plugin: message.plugin, version });
      } else if (message.type === "rule") {
        const verdicts = decide(message.notification, message.candidates, settings);
        write({ type: "verdicts", id: message.id, verdicts });
      }
    }
  });
}

module.exports = { serve };
