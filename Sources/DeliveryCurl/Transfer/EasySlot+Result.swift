import CCurl
import Router

extension EasySlot {
    /// The result of the request. To be asked after the transfer is over and before the slot is cleared.
    func result(of code: CURLcode) -> TransferResult {
        let status = number(CURLINFO_RESPONSE_CODE)
        let received = received
        let metrics = metrics(hasResponse: status > 0)
        if let refused = egress?.failure(behind: code, hasBegun: hasBegun) {
            return TransferResult(outcome: .failure(refused), metrics: metrics)
        }
        if let failure = received.failure(code, progress, status: status, detail: errorText) {
            return TransferResult(outcome: .failure(failure), metrics: metrics)
        }
        let response = ReceivedResponse(
            status: status, retryAfterSeconds: retryAfter, isForSession: isForSession, contentType: contentType,
            location: location,
            body: received.body, bodyTruncated: received.isTruncated)
        return TransferResult(outcome: .response(response), metrics: metrics)
    }

    /// libcurl is handed a request when its host has addresses, or looks nothing up.
    private var progress: RequestProgress { hasBegun ? .begun : .connecting }

    private var contentType: String? { string(CURLINFO_CONTENT_TYPE, atMost: CurlLimits.contentTypeBytes) }

    /// The target made absolute, as libcurl would follow it.
    private var location: String? { string(CURLINFO_REDIRECT_URL, atMost: CurlLimits.locationBytes) }

    private var retryAfter: Int? {
        header("Retry-After").flatMap { RetryAfterValue.seconds($0, untilDate: size(CURLINFO_RETRY_AFTER)) }
    }

    /// Whether the answer is about the session alone, and not about the whole receiver.
    private var isForSession: Bool {
        header("routerd-scope")?.utf8.filter { $0 != 0x20 && $0 != 0x09 }.elementsEqual("session".utf8) ?? false
    }

    /// The field of the final head; nil if it has none.
    private func header(_ name: String) -> String? {
        var header: UnsafeMutablePointer<curl_header>?
        let code = curl_easy_header(handle, name, 0, UInt32(CURLH_HEADER), -1, &header)
        guard code == CURLHE_OK, let value = header?.pointee.value else { return nil }
        return String(cString: value)
    }

    private func metrics(hasResponse: Bool) -> TransferMetrics {
        var metrics = TransferMetrics()
        metrics.nameLookup = sinceStart(CURLINFO_NAMELOOKUP_TIME_T)
        metrics.connect = sinceStart(CURLINFO_CONNECT_TIME_T)
        metrics.tlsHandshake = sinceStart(CURLINFO_APPCONNECT_TIME_T)
        metrics.firstByte = sinceStart(CURLINFO_STARTTRANSFER_TIME_T)
        metrics.total = microsecondsBefore + size(CURLINFO_TOTAL_TIME_T)
        if let address = string(CURLINFO_PRIMARY_IP, atMost: 64), !address.isEmpty {
            let port = number(CURLINFO_PRIMARY_PORT)
            metrics.remoteAddress =
                address.utf8.contains(UInt8(ascii: ":"))
                ? "[\(address)]:\(port)" : "\(address):\(port)"
            metrics.reusedConnection = number(CURLINFO_NUM_CONNECTS) == 0
        }
        if hasResponse { metrics.httpVersion = Self.versionName(number(CURLINFO_HTTP_VERSION)) }
        return metrics
    }

    private static func versionName(_ version: Int) -> String? {
        switch version {
        case Int(CURL_HTTP_VERSION_1_0): "1.0"
        case Int(CURL_HTTP_VERSION_1_1): "1.1"
        case Int(CURL_HTTP_VERSION_2_0): "2"
        case Int(CURL_HTTP_VERSION_3): "3"
        default: nil
        }
    }

    // A figure that libcurl does not give is 0 or nil: figures describe a request, they never make it fail.

    private func number(_ info: CURLINFO) -> Int {
        var value = 0
        return ccurl_getinfo_long(handle, info, &value) == CURLE_OK ? value : 0
    }

    private func size(_ info: CURLINFO) -> Int64 {
        var value: curl_off_t = 0
        return ccurl_getinfo_off_t(handle, info, &value) == CURLE_OK ? Int64(value) : 0
    }

    /// A moment in microseconds from the request's start; 0 if it did not come.
    private func sinceStart(_ info: CURLINFO) -> Int64 {
        let time = size(info)
        return time > 0 ? microsecondsBefore + time : 0
    }

    private func string(_ info: CURLINFO, atMost bytes: Int) -> String? {
        var value: UnsafePointer<CChar>?
        guard ccurl_getinfo_string(handle, info, &value) == CURLE_OK, let value else { return nil }
        return String(decoding: String(cString: value).utf8.prefix(bytes), as: UTF8.self)
    }
}
