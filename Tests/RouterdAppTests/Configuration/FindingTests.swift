import DeliveryCurl
import Glibc
import NIOCore
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// The judgements of `routerd doctor`, and the probes that it makes.
@Suite("Findings of the doctor", .longest)
struct FindingTests {
    @Test(arguments: [
        ([0.5, 0.4, 3], Finding.Verdict.good), ([30, 25, 1], .doubtful), ([0.005, 0.006, 0.007], .doubtful), ([], .bad),
    ])
    func disksAreJudgedByTheirSyncs(milliseconds: [Double], verdict: Finding.Verdict) {
        let findings = Finding.disk(milliseconds: milliseconds, freeBytes: nil, at: "/srv")
        #expect(findings.map(\.verdict) == [verdict])
        #expect((findings[0].cure != nil) == (verdict != .good))
    }

    @Test(arguments: [(999_999_999, Finding.Verdict.bad), (1_000_000_000, .good)] as [(Int64, Finding.Verdict)])
    func aFullDiskIsAFault(bytes: Int64, verdict: Finding.Verdict) {
        #expect(Finding.disk(milliseconds: [1], freeBytes: bytes, at: "/srv").last?.verdict == verdict)
    }

    @Test(arguments: [(10, Finding.Verdict.bad), (1024, .doubtful), (1_000_000, .good)])
    func theLimitOfOpenFilesIsJudgedByTheConfiguration(limit: Int, verdict: Finding.Verdict) {
        let finding = Finding.openFiles(limit: limit, for: DaemonConfiguration())
        #expect(finding.verdict == verdict, "\(finding.sentence)")
    }

    @Test func clocksAndLibrariesAreJudged() {
        #expect([true, false, nil].map { Finding.clock(isSynchronised: $0).verdict } == [.good, .bad, .unknown])
        var curl = CurlVersion.current
        #expect(Finding.curl(curl).verdict == (curl.hasHTTP2 ? .good : .doubtful))
        curl.hasHTTP2 = false
        #expect(Finding.curl(curl).verdict == .doubtful)
        curl.tlsLibrary = nil
        #expect(Finding.curl(curl).verdict == .bad)
    }

    @Test func certificatesAreJudgedByTheirEnd() {
        let now = Timestamp(milliseconds: 0)
        func verdict(days: Int64) -> Finding.Verdict {
            let end = Timestamp(milliseconds: days * 86_400_000)
            return Finding.endpoint("https://a:443", .trusted(until: end), at: now).verdict
        }
        #expect([-1, 0, 13, 14].map(verdict) == [.doubtful, .doubtful, .doubtful, .good])
        #expect(Finding.endpoint("https://a:443", .failed(.refused), at: now).verdict == .bad)
        #expect(Finding.clearText([]) == nil && Finding.clearText(["http://a"])?.verdict == .doubtful)
    }

    @Test func eachCauseHasItsOwnSentenceAndCure() {
        let faults: [HandshakeFault] = [
            .unknownHost, .refused, .unreachable, .late(seconds: 5), .closed, .clearText,
            .wrongName(names: []), .wrongName(names: ["b"]),
            .expired(at: Timestamp(milliseconds: 0)), .notYetValid(until: Timestamp(milliseconds: 0)), .selfSigned,
            .untrusted(issuer: "CN=Hooks"), .other(word: "NO_SHARED_CIPHER"),
        ]
        let findings = faults.map { Finding.endpoint("https://a:443", .failed($0), at: Timestamp(milliseconds: 0)) }
        // The cure of another name is the same with and without the names of the certificate.
        #expect(
            Set(findings.map(\.sentence)).count == faults.count && Set(findings.map(\.cure)).count == faults.count - 1)
        for finding in findings {
            #expect(finding.sentence.hasPrefix("https://a:443 cannot be reached over TLS: "))
            #expect(finding.cure?.hasSuffix(".") == true && !finding.sentence.contains(".build"))
        }
        let authority = "delivery.certificateAuthorityFile"
        #expect(findings.filter { $0.cure?.contains(authority) == true }.count == 2)
    }

    @Test func aDiskIsProbed() throws {
        let directory = try TemporaryDirectory()
        let milliseconds = DiskProbe.syncMilliseconds(in: directory.path, count: 3)
        #expect(milliseconds.count == 3 && milliseconds.allSatisfy { $0 > 0 })
        #expect(DiskProbe.freeBytes(in: directory.path) ?? 0 > 0)
        #expect(DiskProbe.syncMilliseconds(in: directory.file("nothing"), count: 3).isEmpty)
    }
}
