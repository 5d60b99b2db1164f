import RouterPlugin

/// The event of a sender of which nothing is known but that it sends a JSON object, and perhaps `Idempotency-Key`.
enum PlainEvent {
    static func decode(_ request: SourceRequest) throws(SourceError) -> SourceDecoding {
        let key = try request.idempotencyKey()
        try JSONBody.check(request.body)
        return SourceDecoding([SourceEvent(payload: request.body, dedupeKeys: key.map { ["key:\($0)"] } ?? [])])
    }
}
