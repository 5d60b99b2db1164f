/// The files of new projects, which are those of the examples.
enum PluginProjects {
    static let python = [
        (
            "rule.py",
            #"""
            """Keeps notifications away from sessions of some roles."""
            from routerd_rule import serve


            def decide(notification, candidates, settings):
                shielded = settings.get("roles", ["kiosk"])
                return [
                    {"session": candidate["session"], "verdict": "veto", "reason": "the session's role is shielded"}
                    for candidate in candidates
                    if candidate["role"] in shielded
                ]


            if __name__ == "__main__":
                serve("com.example.rule.shielded-roles", "1.0.0", decide)

            """#
        ),
        (
            "routerd_rule.py",
            #"""
            """The protocol of routerd's process rules: length-prefixed JSON on standard input and output."""
            import json
            import struct
            import sys


            def serve(plugin, version, decide):
                """Calls decide(notification, candidates, settings) for each question; it returns a list of verdicts."""
                settings = {}
                while (message := read(sys.stdin.buffer)) is not None:
                    if message["type"] == "hello":
                        if message["protocol"] != 1:
                            sys.exit("this plugin speaks version 1 of the protocol")
                        settings = message["settings"]
                        write({"type": "ready", "protocol": 1, "kind": "rule", "plugin": plugin, "version": version})
                    elif message["type"] == "rule":
                        verdicts = decide(message["notification"], message["candidates"], settings)
                        write({"type": "verdicts", "id": message["id"], "verdicts": verdicts})


            def read(stream):
                head = stream.read(4)
                if len(head) < 4:
                    return None
                return json.loads(stream.read(struct.unpack(">I", head)[0]))


            def write(message):
                body = json.dumps(message).encode()
                sys.stdout.buffer.write(struct.pack(">I", len(body)) + body)
                sys.stdout.buffer.flush()

            """#
        ),
        (
            "test_rule.py",
            #"""
            import unittest

            from rule import decide


            class Decide(unittest.TestCase):
                def test_vetoes_kiosks(self):
                    candidates = [{"session": "a", "role": "kiosk"}, {"session": "b", "role": "windowApplication"}]
                    verdicts = decide({"priority": 10}, candidates, {})
                    self.assertEqual([(v["session"], v["verdict"]) for v in verdicts], [("a", "veto")])


            if __name__ == "__main__":
                unittest.main()

            """#
        ),
        (
            "README.md",
            #"""
            # A rule in Python

                python3 -m unittest
                routerd plugin check --plugin com.example.rule.shielded-roles -- /usr/bin/python3 "$PWD/rule.py"

            In the configuration of the daemon:

                rules:
                  - id: routerd.rule.process
                    plugin: com.example.rule.shielded-roles
                    command: [/usr/bin/python3, /srv/rules/rule.py]
                    settings: {roles: [kiosk]}

            """#
        ),
    ]
    static let node = [
        (
            "rule.js",
            #"""
            // Keeps notifications away from sessions of some roles.
            "use strict";
            const { serve } = require("./routerd-rule.js");

            function decide(notification, candidates, settings) {
              const shielded = settings.roles ?? ["kiosk"];
              return candidates
                .filter((candidate) => shielded.includes(candidate.role))
                .map((candidate) => ({
                  session: candidate.session, verdict: "veto", reason: "the session's role is shielded",
                }));
            }

            if (require.main === module) serve("com.example.rule.shielded-roles", "1.0.0", decide);
            module.exports = { decide };

            """#
        ),
        (
            "routerd-rule.js",
            #"""
            // The protocol of routerd's process rules: length-prefixed JSON on standard input and output.
            "use strict";

            function write(message) {
              const body = Buffer.from(JSON.stringify(message));
              const head = Buffer.alloc(4);
              head.writeUInt32BE(body.length);
              process.stdout.write(Buffer.concat([head, body]));
            }

            // Calls decide(notification, candidates, settings) for each question; it returns a list of verdicts.
            function serve(plugin, version, decide) {
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
                    write({ type: "ready", protocol: 1, kind: "rule", plugin, version });
                  } else if (message.type === "rule") {
                    const verdicts = decide(message.notification, message.candidates, settings);
                    write({ type: "verdicts", id: message.id, verdicts });
                  }
                }
              });
            }

            module.exports = { serve };

            """#
        ),
        (
            "rule.test.js",
            #"""
            "use strict";
            const { test } = require("node:test");
            const assert = require("node:assert");
            const { decide } = require("./rule.js");

            test("vetoes kiosks", () => {
              const candidates = [{ session: "a", role: "kiosk" }, { session: "b", role: "windowApplication" }];
              const verdicts = decide({ priority: 10 }, candidates, {});
              assert.deepStrictEqual(verdicts.map((v) => [v.session, v.verdict]), [["a", "veto"]]);
            });

            """#
        ),
        (
            "README.md",
            #"""
            # A rule in Node

                node --test
                routerd plugin check --plugin com.example.rule.shielded-roles -- /usr/bin/node "$PWD/rule.js"

            In the configuration of the daemon:

                rules:
                  - id: routerd.rule.process
                    plugin: com.example.rule.shielded-roles
                    command: [/usr/bin/node, /srv/rules/rule.js]
                    settings: {roles: [kiosk]}

            """#
        ),
    ]
}
