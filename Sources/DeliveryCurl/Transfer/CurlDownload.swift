import CCurl
package import Router

/// A GET whose answer has no end of its own, read while it comes: what a client of a stream needs, and nothing else
/// does.
///
/// It has a handle of its own and blocks the thread that calls it; nothing is shared with the transport. The egress
/// guard does not apply: the person at the keyboard has named the server.
package struct CurlDownload: Sendable {
    package let url: String
    package let headers: [HeaderField]
    /// An answer that is silent for this many seconds counts as lost.
    package let silenceSeconds: Int

    package init(url: String, headers: [HeaderField], silenceSeconds: Int) {
        self.url = url
        self.headers = headers
        self.silenceSeconds = silenceSeconds
    }

    /// How it ended; a download that was stopped has not failed.
    package struct End: Sendable {
        /// Nil if there was no answer.
        package var status: Int?
        package var retryAfterSeconds: Int?
        package var failure: TransferFailure?
    }

    /// The context of the callback for each piece; it lives as long as the handle.
    private final class Sink {
        let handle: UnsafeMutableRawPointer
        let take: (_ status: Int, _ bytes: [UInt8]) -> Bool
        var isStopped = false

        init(_ handle: UnsafeMutableRawPointer, _ take: @escaping (_ status: Int, _ bytes: [UInt8]) -> Bool) {
            self.handle = handle
            self.take = take
        }
    }

    /// Reads until the answer ends, or until `take` says that it has enough.
    ///
    /// - Parameter take: Called with each piece of the body, and the status of the answer.
    package func run(_ take: @escaping (_ status: Int, _ bytes: [UInt8]) -> Bool) -> End {
        guard CurlProcess.initialisation == CURLE_OK, let handle = curl_easy_init() else {
            return End(failure: TransferFailure(kind: .other, message: "libcurl has no memory for a handle"))
        }
        defer { curl_easy_cleanup(handle) }
        let list: UnsafeMutablePointer<curl_slist>?
        do { list = try RequestHeaders(headers).makeList() } catch { return End(failure: error.failure) }
        defer { curl_slist_free_all(list) }
        let sink = Sink(handle, take)
        let code = withExtendedLifetime(sink) {
            let setUp = prepare(handle, list, sink)
            return setUp == CURLE_OK ? curl_easy_perform(handle) : setUp
        }
        var end = End()
        var (status, wait) = (0, curl_off_t(0))
        if ccurl_getinfo_long(handle, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK, status > 0 { end.status = status }
        if ccurl_getinfo_off_t(handle, CURLINFO_RETRY_AFTER, &wait) == CURLE_OK, wait > 0 {
            end.retryAfterSeconds = min(Int(wait), CurlLimits.retryAfterSeconds)
        }
        if code != CURLE_OK, !sink.isStopped { end.failure = TransferFailure(code) }
        return end
    }

    private func prepare(
        _ handle: UnsafeMutableRawPointer, _ list: UnsafeMutablePointer<curl_slist>?, _ sink: Sink
    ) -> CURLcode {
        for (option, value) in EasySlot.fixedNumbers where option != CURLOPT_POST {
            let code = ccurl_setopt_long(handle, option, value)
            guard code == CURLE_OK else { return code }
        }
        for (option, value) in EasySlot.fixedStrings + [(CURLOPT_URL, url)] {
            let code = ccurl_setopt_string(handle, option, value)
            guard code == CURLE_OK else { return code }
        }
        return [
            ccurl_setopt_long(handle, CURLOPT_LOW_SPEED_LIMIT, 1),
            ccurl_setopt_long(handle, CURLOPT_LOW_SPEED_TIME, silenceSeconds),
            ccurl_setopt_list(handle, CURLOPT_HTTPHEADER, list),
            ccurl_setopt_pointer(handle, CURLOPT_WRITEDATA, Unmanaged.passUnretained(sink).toOpaque()),
            ccurl_setopt_callback(handle, CURLOPT_WRITEFUNCTION, Self.callback),
        ].first { $0 != CURLE_OK } ?? CURLE_OK
    }

    private static let callback: curl_write_callback = { bytes, size, count, context in
        guard let bytes, let context else { return 0 }
        let sink = Unmanaged<Sink>.fromOpaque(context).takeUnretainedValue()
        var status = 0
        guard ccurl_getinfo_long(sink.handle, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK else { return 0 }
        let piece = Array(UnsafeRawBufferPointer(start: bytes, count: size * count))
        if sink.take(status, piece) { return size * count }
        sink.isStopped = true
        // Fewer than there are: libcurl ends the transfer.
        return 0
    }
}
