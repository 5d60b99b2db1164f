import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// `routerd doctor` without a daemon and beside one.
@Suite("Doctor", .longest)
struct DoctorTests {
    private func examine(_ arguments: String...) async throws -> (status: Int32, findings: [JSONValue]) {
        let ended = try await Program(["doctor", "--json"] + arguments).ended()
        let report = try JSONValue(parsing: Array(ended.output.utf8), limits: .configuration)
        return (ended.status, report.at("findings").asArray ?? [])
    }

    private func verdicts(_ findings: [JSONValue], of part: String) -> [String] {
        findings.filter { $0.at("part").asString == part }.compactMap { $0.at("verdict").asString }
    }

    @Test func everyPartIsExaminedBesideADaemon() async throws {
        let directory = try TemporaryDirectory()
        try await withServedDaemon(database: directory.file()) { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("win-1", at: "https://127.0.0.1:1/hook?secret=hidden")
            let (status, findings) = try await examine("--database", directory.file(), "--server", daemon.address)
            #expect(verdicts(findings, of: "daemon") == ["ok"])
            #expect(verdicts(findings, of: "database") == ["ok"])
            #expect(verdicts(findings, of: "endpoint") == ["fault"] && status == 1)
            let endpoint = findings.first { $0.at("part") == "endpoint" }?.at("sentence").asString ?? ""
            #expect(
                endpoint.hasPrefix("https://127.0.0.1:1 cannot be reached over TLS") && !endpoint.contains("hidden"))
            for part in ["configuration", "clock", "open files", "disk", "space", "curl"] {
                #expect(!verdicts(findings, of: part).isEmpty, "\(part)")
            }
        }
    }

    @Test func faultsHaveACure() async throws {
        let directory = try TemporaryDirectory()
        let wrong = try directory.write("lisen: 127.0.0.1:8080\n", to: "wrong.yaml")
        let damaged = try directory.write("this is no database, and long enough to have a header", to: "damaged.sqlite")
        let server = "http://127.0.0.1:1"
        let (status, findings) = try await examine("--config", wrong, "--database", damaged, "--server", server)
        #expect(status == 1)
        #expect(verdicts(findings, of: "configuration").contains("fault"))
        #expect(verdicts(findings, of: "database") == ["fault"] && verdicts(findings, of: "daemon") == ["unknown"])
        #expect(findings.filter { $0.at("verdict") == "fault" }.allSatisfy { $0.at("cure").asString != nil })
        let text = try await Program(["doctor", "--database", directory.file("new"), "--server", server]).ended()
        #expect(text.output.contains("There is no database at"))
    }
}
