import CCurl
import Router

/// The head of a response, as libcurl hands it over line by line: interim responses, the final one, then trailers.
struct ResponseHead: Hashable {
    /// Bytes of all lines so far.
    private(set) var byteCount = 0
    /// Whether the last head that began has ended. libcurl takes a head that just stops for a whole one.
    private(set) var isComplete = false
    private(set) var isTooLong = false
    private var isSwitching = false
    /// Whether the status was 101, which is final: the bytes after it are of another protocol, which was not asked for.
    private(set) var hasSwitched = false

    /// Takes a line with its end; false if there are too many, or if nothing more is of interest.
    mutating func receive(line: UnsafeRawBufferPointer) -> Bool {
        byteCount += line.count
        isTooLong = byteCount > CurlLimits.headBytes
        if line.starts(with: "HTTP/".utf8) {
            isComplete = false
            isSwitching = line.dropFirst("HTTP/1.1 ".utf8.count).starts(with: "101".utf8)
        } else if line.elementsEqual("\r\n".utf8) || line.elementsEqual("\n".utf8) {
            isComplete = true
            hasSwitched = isSwitching
        }
        return !isTooLong && !hasSwitched
    }
}

/// The parts of a response that arrived, and the rule on whether they are one.
struct ReceivedParts: Hashable {
    var head: ResponseHead
    var body: [UInt8]
    /// Whether the body went on after its limit.
    var isTruncated: Bool

    /// Why this is no response, or nil.
    ///
    /// A body that went on after the limit was cut off by us: the receiver has answered, and its status counts.
    /// So it has with 101, after which libcurl would wait for the other protocol's end.
    /// A body cut off by the other side or by time is a failure, whatever the status line said: the
    /// rest might have said otherwise.
    func failure(
        _ code: CURLcode, _ progress: RequestProgress, status: Int, detail: String
    ) -> TransferFailure? {
        // A single line that is longer than libcurl's buffer is to libcurl as if there were no memory.
        let isEndless = code == CURLE_OUT_OF_MEMORY && progress == .begun && !head.isComplete
        if head.isTooLong || isEndless {
            return TransferFailure(
                kind: .garbled, curlCode: Int(code.rawValue),
                message: "the response's headers are longer than \(CurlLimits.headBytes) bytes")
        }
        let isCutByUs = code == CURLE_WRITE_ERROR && (isTruncated || head.hasSwitched)
        guard code == CURLE_OK || isCutByUs else { return TransferFailure(code, progress, detail: detail) }
        guard head.isComplete, status >= 200 || head.hasSwitched else {
            return TransferFailure(
                kind: .connectionLost, curlCode: Int(code.rawValue),
                message: "the connection ended before the response's headers did")
        }
        return nil
    }
}

/// Reads `Retry-After` (RFC 9110, 10.2.3).
enum RetryAfterValue {
    /// The seconds that a header asks to wait, or nil if it cannot be read. libcurl reports 0 for a header that is
    /// missing, malformed, in the past or really 0, so it is asked for nothing but how far away a date is.
    static func seconds(_ header: String, untilDate: Int64) -> Int? {
        let value = header.utf8.drop { $0 == 0x20 || $0 == 0x09 }
        let digits = value.prefix { (0x30...0x39).contains($0) }
        let rest = value[digits.endIndex...].drop { $0 == 0x20 || $0 == 0x09 }
        if !digits.isEmpty, rest.isEmpty {
            return min(Int(Substring(digits)) ?? .max, CurlLimits.retryAfterSeconds)
        }
        // Each of the three forms of a date begins with the name of a day; libcurl's parser would take much more.
        guard let first = value.first, (0x41...0x5A).contains(first), curl_getdate(header, nil) != -1 else {
            return nil
        }
        return min(max(0, Int(untilDate)), CurlLimits.retryAfterSeconds)
    }
}
