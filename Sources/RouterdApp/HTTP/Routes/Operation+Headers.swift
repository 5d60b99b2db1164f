/// Fields of the header of requests.
extension [Operation.Parameter] {
    /// Fields of APNs, and of a sender that repeats its requests or is part of a trace.
    static var push: Self {
        [
            Operation.Parameter("apns-id", .uuid.described("The same id again is the same notification.")),
            Operation.Parameter("apns-priority", .oneOf(["1", "5", "10"])),
            Operation.Parameter("apns-expiration", .count.described("In seconds since 1970; 0 tries once.")),
            Operation.Parameter(
                "apns-collapse-id",
                .text.ofLength(1...64).described("A newer notification with it supersedes this one.")),
        ] + repeatableInTrace
    }

    /// The key under which a repeated request has the effect of one.
    static var repeatable: Self { [Operation.Parameter("Idempotency-Key", .text.ofLength(1...255))] }

    /// The place of the request in a trace (W3C Trace Context).
    static var trace: Self { [Operation.Parameter("traceparent"), Operation.Parameter("tracestate")] }

    static var repeatableInTrace: Self { repeatable + trace }

    /// Where a stream goes on.
    static var resuming: Self { [Operation.Parameter("Last-Event-ID")] }

    /// The state in which a resource has to be.
    static var conditional: Self {
        [
            Operation.Parameter("If-None-Match", .text.described("* puts a session only if it is not there.")),
            Operation.Parameter("If-Match", .text.described("* or the ETag of a session, which has to be there.")),
        ]
    }

    /// The languages of texts for people, where the query names none.
    static var languages: Self { [Operation.Parameter("Accept-Language")] }
}
