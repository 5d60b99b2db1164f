import HTTPTypes
import Router
import RouterPlugin

/// Payloads that are as large as they may be.
enum LargestPayload {
    /// JSON of the greatest depth and with the longest number, whose values are apart by line ends.
    static let json: String = {
        let depth = JSONLimits.ingest.maximumDepth - 1
        let deep = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let number = String(repeating: "7", count: JSONLimits.ingest.maximumNumberLength)
        let head = "{\r\n  \"deep\": \(deep),\n\n  \"number\": \(number),\n  \"text\": \""
        let tail = "\\u0001\"\r\n}"
        let length = RouterLimits.payloadBytes - head.utf8.count - tail.utf8.count
        return head + String(repeating: "x", count: length) + tail
    }()

    /// Bytes that are no JSON, and have four thirds of their size in an envelope.
    static let bytes = (0..<RouterLimits.payloadBytes).map { UInt8(truncatingIfNeeded: $0) }
}

extension APICaller {
    /// Posts both payloads to the gallery, the second by a source; returns the ids of the notifications.
    func postLargest() async throws -> [String] {
        let json = try await call(.post, "\(TestDaemon.gallery)/notifications", LargestPayload.json)
        try await call(.put, "/v1/sources/bytes", #"{"kind":"cloudevents","application":"com.example.gallery"}"#)
        let attributes = ["ce-specversion": "1.0", "ce-type": "a", "ce-source": "/b", "ce-id": "c"]
        let bytes = try await call(
            .post, "/v1/sources/bytes", bytes: LargestPayload.bytes,
            headers: attributes.merging(["content-type": "image/png"]) { $1 })
        return [json.id] + bytes.ids("notifications")
    }
}
