import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// `apply`, `diff`, `export` and `source` on a daemon that runs.
@Suite("apply, diff, export", .longest)
struct SetCommandTests {
    @Test func anExportedSetIsANoOp() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write(TestSet.gallery, to: "gallery.yaml")
        try await withServedDaemon { daemon in
            func run(_ words: String..., input: String = "") async throws -> Program.Ended {
                try await Program(words, input: input, environment: ["ROUTERD_SERVER": daemon.address]).ended()
            }
            #expect(try await run("diff", "-f", file).status == 3)
            let applied = try await run("apply", "-f", file)
            #expect(applied.status == 0 && applied.output.contains("3 create"), "\(applied.errors)")
            #expect(try await run("diff", "-f", file).status == 0)
            for words in [["export"], ["export", "--json"]] {
                let exported = try await Program(words, environment: ["ROUTERD_SERVER": daemon.address]).ended()
                #expect(exported.status == 0, "\(exported.errors)")
                let text = exported.output.split(separator: "\n").joined(separator: "\n")
                let documents = words.count == 1 ? text : text.split(separator: "\n").joined(separator: "\n---\n")
                let again = try await run("apply", "-f", "-", "--exit-status", input: documents)
                #expect(again.status == 0 && again.output == "3 unchanged\n", "\(again.output)\(again.errors)")
            }
            let bad = try directory.write(TestSet.gallery.replacing("seconds", with: "x"), to: "bad.yaml")
            let faulty = try directory.write(
                TestSet.gallery.replacing("timeoutSeconds: 20", with: "timeoutSeconds: x"), to: "faulty.yaml")
            #expect(try await run("apply", "-f", bad).status == 0)
            let refused = try await run("apply", "-f", faulty)
            #expect(refused.status == 1 && refused.errors.contains("\(faulty):5:30: /spec/delivery/timeoutSeconds: "))
            // The faults of several files are reported at their places in each, whether the one before ends with a line
            // end or not.
            let second = try directory.write("\u{FEFF}kind: Application\nid: a.b\nspec: {x: 1}", to: "second.yaml")
            let third = try directory.write("kind: Application\nid: [\n", to: "third.yaml")
            let several = try await run("apply", "-f", file, "-f", second, "-f", second, "-f", third)
            #expect(several.status == 1 && several.errors.contains("\(second):3:11: /spec/x: "), "\(several.errors)")
            #expect(several.errors.contains("\(third):3:1: "), "\(several.errors)")
            #expect(!several.errors.contains("document"), "\(several.errors)")
        }
    }

    @Test func exportedRulesAreANoOp() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write(TestSet.gallery + "---\n" + TestSet.rules, to: "all.yaml")
        try await withServedDaemon { daemon in
            func run(_ words: String..., input: String = "") async throws -> Program.Ended {
                try await Program(words, input: input, environment: ["ROUTERD_SERVER": daemon.address]).ended()
            }
            #expect(try await run("apply", "-f", file).status == 0)
            #expect(try await run("export").output.contains("Rule") == false)
            let exported = try await run("export", "--rules")
            #expect(exported.status == 0 && exported.output.contains("x-team"), "\(exported.errors)")
            let again = try await run("apply", "-f", "-", "--exit-status", input: exported.output)
            #expect(again.status == 0 && again.output == "5 unchanged\n", "\(again.output)\(again.errors)")
            let refused = try await run("export", "--rules", "--application", "com.example.gallery")
            #expect(refused.status == 2 && refused.errors.contains("exclude each other"), "\(refused.errors)")
        }
    }

    /// Rules without a name, and rules that run apart from the daemon, are known by the ids of their plugins.
    @Test func exportedRulesWithoutNamesAreANoOp() async throws {
        let directory = try TemporaryDirectory()
        let config = try directory.write(
            """
            rules:
              - {id: routerd.rule.state-floor}
              - {id: routerd.rule.state-floor, name: second}
              - {id: routerd.rule.http, plugin: com.example.rule.x, url: "http://127.0.0.1:9/rule"}
            """, to: "routerd.yaml")
        try await withServedDaemon(["--config", config], database: directory.file()) { daemon in
            func run(_ words: String..., input: String = "") async throws -> Program.Ended {
                try await Program(words, input: input, environment: ["ROUTERD_SERVER": daemon.address]).ended()
            }
            let exported = try await run("export", "--rules")
            #expect(exported.output.contains("id: com.example.rule.x\n"), "\(exported.output)")
            let again = try await run("apply", "-f", "-", "--exit-status", input: exported.output)
            #expect(again.status == 0 && again.output == "3 unchanged\n", "\(again.output)\(again.errors)")
            let more = "---\nkind: Rule\nid: quiet\nspec: {when: \"priority < 5\", then: drop}\n"
            let added = try await run("apply", "-f", "-", input: exported.output + more)
            #expect(added.status == 0 && added.output.contains("create Rule quiet"), "\(added.output)\(added.errors)")
        }
    }

    @Test func pruningMoreThanIsKeptNeedsAWord() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write(TestSet.gallery, to: "gallery.yaml")
        let small = try directory.write("kind: Application\nid: com.example.gallery\n", to: "small.yaml")
        try await withServedDaemon { daemon in
            func run(_ words: String...) async throws -> Program.Ended {
                try await Program(words, environment: ["ROUTERD_SERVER": daemon.address]).ended()
            }
            let first = try await run("apply", "-f", file, "--set", "a")
            #expect(first.output.contains("taken into") == false)
            let adopted = try await run("apply", "-f", file)
            #expect(adopted.output.contains("taken into the set default: 3 "), "\(adopted.output)")
            let secret = try directory.write(TestSet.gallery.replacing("s3cret", with: "other"), to: "secret.yaml")
            let changed = try await run("diff", "-f", secret)
            #expect(changed.output.contains("  /secret: changed (not shown)\n"), "\(changed.output)")
            let empty = try directory.write("", to: "empty.yaml")
            #expect(
                try await run("apply", "-f", empty, "--set", "a", "--prune").status == 0, "the set default holds them")
            let refused = try await run("apply", "-f", small, "--prune")
            #expect(refused.status == 1 && refused.errors.contains("delete 2 and keep 1"), "\(refused.errors)")
            #expect(try await run("apply", "-f", small, "--prune", "--dry-run").output.contains("2 delete"))
            let pruned = try await run("apply", "-f", small, "--prune", "--yes")
            #expect(pruned.status == 0 && pruned.output.contains("2 delete"), "\(pruned.errors)")
        }
    }

    @Test func aSourceIsPutTriedAndListed() async throws {
        try await withServedDaemon { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("win-1", at: "http://127.0.0.1:9/")
            func run(_ words: String...) async throws -> Program.Ended {
                try await Program(words, environment: ["ROUTERD_SERVER": daemon.address]).ended()
            }
            let body = #"{"kind":"bearer","application":"com.example.gallery","secrets":["t"],"contentId":"x://{id}"}"#
            #expect(try await run("source", "put", "s", body).status == 0)
            let good = try await run("source", "test", "s", "--header", "authorization: Bearer t", #"{"id":7}"#)
            #expect(good.status == 0 && good.output.contains("x://7"), "\(good.output)\(good.errors)")
            let bad = try await run("source", "test", "s", #"{"id":7}"#)
            #expect(bad.status == 1 && bad.output.contains("signature-missing"), "\(bad.output)")
            #expect(try await run("source").output.contains("x://{id}"))
            #expect(try await run("source", "rotate-secret", "s", "--secret", "u").status == 0)
            #expect(try await run("source", "delete", "s").status == 0)
        }
    }
}
