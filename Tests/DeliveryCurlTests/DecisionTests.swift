import CCurl
import Router
import Testing

@testable import DeliveryCurl

/// The parts of the transport that decide without doing.
struct DecisionTests {
    @Test(
        "A code of libcurl means",
        arguments: [
            (CURLE_COULDNT_RESOLVE_HOST, TransferFailure.Kind.nameNotResolved), (CURLE_COULDNT_CONNECT, .connectFailed),
            (CURLE_OPERATION_TIMEDOUT, .timedOut), (CURLE_PEER_FAILED_VERIFICATION, .tlsFailed),
            (CURLE_SSL_CONNECT_ERROR, .tlsFailed), (CURLE_SSL_CACERT_BADFILE, .tlsFailed),
            (CURLE_GOT_NOTHING, .connectionLost), (CURLE_RECV_ERROR, .connectionLost),
            (CURLE_SEND_ERROR, .connectionLost),
            (CURLE_PARTIAL_FILE, .connectionLost), (CURLE_HTTP2_STREAM, .connectionLost),
            (CURLE_WEIRD_SERVER_REPLY, .garbled), (CURLE_UNSUPPORTED_PROTOCOL, .garbled), (CURLE_HTTP2, .garbled),
            (CURLE_URL_MALFORMAT, .unusableURL), (CURLE_OUT_OF_MEMORY, .other), (CURLE_ABORTED_BY_CALLBACK, .other),
            (CURLE_WRITE_ERROR, .other), (CURLE_BAD_FUNCTION_ARGUMENT, .other),
        ])
    func kinds(code: CURLcode, kind: TransferFailure.Kind) {
        let failure = TransferFailure(code)
        #expect(failure.kind == kind)
        #expect(failure.curlCode == Int(code.rawValue))
        #expect(!failure.message.isEmpty)
    }

    @Test(
        "A failure's meaning depends on the progress of the request",
        arguments: [
            (CURLE_OPERATION_TIMEDOUT, RequestProgress.resolving, TransferFailure.Kind.nameNotResolved),
            (CURLE_OPERATION_TIMEDOUT, .connecting, .connectFailed), (CURLE_OPERATION_TIMEDOUT, .begun, .timedOut),
            (CURLE_RECV_ERROR, .connecting, .connectFailed), (CURLE_RECV_ERROR, .begun, .connectionLost),
            (CURLE_COULDNT_CONNECT, .connecting, .connectFailed), (CURLE_COULDNT_CONNECT, .begun, .connectionLost),
            (CURLE_COULDNT_RESOLVE_HOST, .resolving, .nameNotResolved),
            (CURLE_COULDNT_RESOLVE_HOST, .begun, .connectionLost),
            (CURLE_PEER_FAILED_VERIFICATION, .connecting, .tlsFailed),
            (CURLE_PEER_FAILED_VERIFICATION, .begun, .connectionLost), (CURLE_OUT_OF_MEMORY, .connecting, .other),
            (CURLE_URL_MALFORMAT, .resolving, .unusableURL), (CURLE_WEIRD_SERVER_REPLY, .begun, .garbled),
        ])
    func kindsByProgress(code: CURLcode, progress: RequestProgress, kind: TransferFailure.Kind) {
        let failure = TransferFailure(code, progress, detail: "text")
        #expect(failure.kind == kind)
        #expect(failure.kind.isAmbiguous == (progress == .begun) || kind == .other)
        #expect(failure.hasRunOutOfTime == (code == CURLE_OPERATION_TIMEDOUT))
        #expect(failure.message == "text")
    }

    @Test func theTableNamesEachCodeOnce() {
        let codes = TransferFailure.Kind.table.flatMap(\.codes).map(\.rawValue)
        #expect(Set(codes).count == codes.count)
        #expect(!codes.contains(CURLE_OK.rawValue))
    }

    @Test func messagesAreOneShortLine() {
        let text = "a\r\nb\u{1B}[31m\u{E9}" + String(repeating: "x", count: 999)
        let failure = TransferFailure(CURLE_RECV_ERROR, detail: text)
        #expect(failure.message.hasPrefix("a??b?[31m??x"))
        #expect(failure.message.utf8.count == 256)
    }

    @Test(
        "Retry-After",
        arguments: [
            ("0", 0, 0), ("120", 0, 120), ("  7\t", 0, 7), ("007", 0, 7), ("99999999999999999999", 0, Int(Int32.max)),
            ("Wed, 21 Oct 2099 07:28:00 GMT", 90, 90), ("Wednesday, 21-Oct-99 07:28:00 GMT", 90, 90),
            ("Wed Oct 21 07:28:00 2099", 90, 90), ("Wed, 21 Oct 2015 07:28:00 GMT", -5, 0),
            ("Wed, 21 Oct 2099 07:28:00 GMT", Int64.max, Int(Int32.max)), ("", 3, nil), ("-5", -5, nil),
            ("12abc", 12, nil),
            ("1.5", 1, nil), ("soon", 0, nil), ("10, 20", 10, nil), ("20991021", 9, 20_991_021),
        ])
    func retryAfter(header: String, untilDate: Int64, expected: Int?) {
        #expect(RetryAfterValue.seconds(header, untilDate: untilDate) == expected)
    }

    @Test func responseOrNot() {
        var whole = ResponseHead()
        #expect(["HTTP/1.1 200 OK\r\n", "A: b\r\n", "\r\n"].map { whole.receive(line: $0) } == [true, true, true])
        let parts = ReceivedParts(head: whole, body: [], isTruncated: false)
        let cut = ReceivedParts(head: whole, body: [], isTruncated: true)
        #expect(parts.failure(CURLE_OK, .begun, status: 200, detail: "") == nil)
        #expect(cut.failure(CURLE_WRITE_ERROR, .begun, status: 500, detail: "") == nil)
        #expect(parts.failure(CURLE_WRITE_ERROR, .begun, status: 200, detail: "")?.kind == .other)
        #expect(cut.failure(CURLE_OPERATION_TIMEDOUT, .begun, status: 200, detail: "")?.kind == .timedOut)
        #expect(parts.failure(CURLE_PARTIAL_FILE, .begun, status: 200, detail: "")?.kind == .connectionLost)
        #expect(parts.failure(CURLE_OK, .begun, status: 100, detail: "")?.kind == .connectionLost)
        #expect(parts.failure(CURLE_OK, .begun, status: 0, detail: "")?.kind == .connectionLost)
        let none = ReceivedParts(head: ResponseHead(), body: [], isTruncated: false)
        #expect(none.failure(CURLE_OK, .begun, status: 200, detail: "")?.kind == .connectionLost)
    }

    @Test func aNewHeadReplacesTheLastOne() {
        var head = ResponseHead()
        for line in ["HTTP/1.1 100 Continue\r\n", "\r\n"] { _ = head.receive(line: line) }
        #expect(head.isComplete)
        _ = head.receive(line: "HTTP/1.1 200 OK\r\n")
        #expect(!head.isComplete)
        let isTaken = head.receive(line: String(repeating: "x", count: 65_536))
        #expect(!isTaken)
        #expect(head.isTooLong)
    }

    @Test func admissionIsFirstInFirstOutAndBounded() {
        var admission = Admission<Int>(slots: 2, waitingLimit: 3)
        let verdicts = (0..<7).map { admission.submit($0) }
        #expect(verdicts == [true, true, true, true, true, false, false])
        let started = (0..<3).map { _ in admission.next()?.item }
        #expect(started == [0, 1, nil])
        #expect(admission.running == 2)
        let isTaken = admission.submit(7)
        #expect(!isTaken)
        let removed = (0..<2).map { _ in admission.remove { $0 == 3 } }
        #expect(removed == [3, nil])
        admission.release(1)
        let next = admission.next()
        #expect(next?.slot == 1)
        #expect(next?.item == 2)
        let left = admission.drain()
        #expect(left == [4])
        #expect(!admission.canStart)
        for slot in [0, 1] { admission.release(slot) }
        #expect(admission.running == 0)
    }

    @Test func waitingIsRoundedUp() {
        #expect(MonotonicClock.milliseconds(until: 5, from: 5) == 0)
        #expect(MonotonicClock.milliseconds(until: 4, from: 5) == 0)
        #expect(MonotonicClock.milliseconds(until: 6, from: 5) == 1)
        #expect(MonotonicClock.milliseconds(until: 1_000_005, from: 5) == 1)
        #expect(MonotonicClock.milliseconds(until: 1_000_006, from: 5) == 2)
        #expect(MonotonicClock.milliseconds(until: .max, from: 0) == .max)
    }

    @Test func theVersionIsDescribed() {
        let version = CurlVersion.current
        #expect(version.unsuitable == nil)
        #expect(version.hasHTTP2)
        #expect(CurlVersion.describe().hasPrefix("libcurl \(version.text), "))
        var other = version
        other.number = 0x07_56_00
        #expect(other.unsuitable?.contains("7.87.0") == true)
        other = version
        other.tlsLibrary = nil
        #expect(other.unsuitable?.contains("TLS") == true)
        other = version
        other.resolvesAsynchronously = false
        #expect(other.unsuitable?.contains("resolver") == true)
    }

    @Test(arguments: [
        CurlConfiguration(slots: 0), CurlConfiguration(slots: 100_000), CurlConfiguration(waitingLimit: -1),
        CurlConfiguration(cachedConnections: 0), CurlConfiguration(connectionLifetimeSeconds: 0),
    ])
    func impossibleConfigurations(configuration: CurlConfiguration) {
        #expect(throws: CurlSetupError.self) { try CurlTransport(configuration: configuration) }
    }
}

extension ResponseHead {
    fileprivate mutating func receive(line: String) -> Bool {
        var line = line
        return line.withUTF8 { receive(line: UnsafeRawBufferPointer($0)) }
    }
}
