import CCurl
import Router

/// One of libcurl's easy handles, used for one request after the other, and the memory that a running request needs:
/// the parsed URL, the header list, the body, the buffer of the error's text.
///
///     Swift                                              │ libcurl
///     CurlLoop ══▶ EasySlot ═════════════════════════════╪═▶ easy handle
///                    ▲  ║                                │     │ │
///                    └──╫──── contexts of callbacks ─────┼─────┘ │   ═▶ owns, and frees
///                       ╠══▶ error buffer ◀──────────────┼───────┤   ─▶ points to, unretained
///                       ╚══▶ URL, lists, body ◀──────────┼───────┘
///
/// | libcurl's pointer to | set by | taken back by |
/// |---|---|---|
/// | the slot, the error buffer | `init` | `curl_easy_cleanup` in `deinit` |
/// | the URL, the lists, the body | `prepare`, `setNames` | `clear` |
///
/// The slot belongs to the loop's thread. libcurl uses the pointers only while the handle is in the multi handle or
/// being taken out of it, and the loop takes it out before it clears the slot or lets go of it.
final class EasySlot {
    let handle: UnsafeMutableRawPointer
    private let errorBuffer: UnsafeMutablePointer<CChar>

    private var url: CurlURL?
    private var headers: UnsafeMutablePointer<curl_slist>?
    /// Lines that libcurl reads into its table of names when the request is handed over.
    private var names: UnsafeMutablePointer<curl_slist>?
    /// Holds the body of the running request. It is kept for the next one if it is small.
    private var requestBody: UnsafeMutableRawBufferPointer?

    private var responseLimit = 0
    private var responseBody: [UInt8] = []
    private var isTruncated = false
    private var head = ResponseHead()

    private let egressPolicy: EgressPolicy
    /// The guard of the running request; without a request nothing may be opened.
    private(set) var egress: EgressGate?
    /// The phase of the running request.
    private(set) var state = TransferStateMachine()
    /// Connections that the request may not be given.
    var silent: SilentConnections?
    /// Whether the host's addresses were given to libcurl.
    var hasAddresses = false
    /// The running request's time.
    private(set) var time = RequestTime(at: 0, connectingMilliseconds: 1, milliseconds: 1)
    /// How much of its time had passed when it was handed over last, in microseconds.
    private(set) var microsecondsBefore: Int64 = 0

    /// Makes the handle and sets the options that every request has.
    init(number: Int, configuration: CurlConfiguration) throws(RequestRefusal) {
        guard let handle = curl_easy_init() else { throw RequestRefusal("libcurl has no memory for another handle") }
        self.handle = handle
        egressPolicy = configuration.egress
        errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        for (option, value) in Self.fixedNumbers { try set(option, value) }
        for (option, value) in Self.fixedStrings { try set(option, value) }
        try set(CURLOPT_MAXLIFETIME_CONN, configuration.connectionLifetimeSeconds)
        if let file = configuration.certificateAuthorityFile { try set(CURLOPT_CAINFO, file) }
        try check(CURLOPT_ERRORBUFFER, ccurl_setopt_pointer(handle, CURLOPT_ERRORBUFFER, errorBuffer))
        // The number comes back with the news that the transfer is over; 0 would be indistinguishable from nothing.
        let tag = UnsafeRawPointer(bitPattern: number + 1)
        try check(CURLOPT_PRIVATE, ccurl_setopt_pointer(handle, CURLOPT_PRIVATE, tag))
        let context = Unmanaged.passUnretained(self).toOpaque()
        for option in [
            CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_OPENSOCKETDATA, CURLOPT_PREREQDATA,
            CURLOPT_RESOLVER_START_DATA,
        ] {
            try check(option, ccurl_setopt_pointer(handle, option, context))
        }
        for (option, callback) in [
            (CURLOPT_WRITEFUNCTION, Self.bodyCallback), (CURLOPT_HEADERFUNCTION, Self.headCallback),
        ] {
            try check(option, ccurl_setopt_callback(handle, option, callback))
        }
        try check(CURLOPT_OPENSOCKETFUNCTION, ccurl_setopt_open_callback(handle, Self.openCallback))
        try check(CURLOPT_RESOLVER_START_FUNCTION, ccurl_setopt_lookup_callback(handle, Self.lookUpCallback))
        try check(CURLOPT_PREREQFUNCTION, ccurl_setopt_request_callback(handle, Self.requestCallback))
    }

    /// Sets the callback that closes the sockets of the handle's connections.
    func setClosing(
        _ callback: @escaping curl_closesocket_callback, _ context: UnsafeMutableRawPointer
    ) throws(RequestRefusal) {
        try check(CURLOPT_CLOSESOCKETDATA, ccurl_setopt_pointer(handle, CURLOPT_CLOSESOCKETDATA, context))
        try check(CURLOPT_CLOSESOCKETFUNCTION, ccurl_setopt_close_callback(handle, callback))
    }

    deinit {
        curl_easy_cleanup(handle)
        errorBuffer.deallocate()
        curl_slist_free_all(headers)
        curl_slist_free_all(names)
        requestBody?.deallocate()
    }

    /// The number of the slot that a handle belongs to.
    static func number(of handle: UnsafeMutableRawPointer) -> Int? {
        var tag: UnsafeMutableRawPointer?
        guard ccurl_getinfo_private(handle, &tag) == CURLE_OK, let tag else { return nil }
        return Int(bitPattern: tag) - 1
    }

    /// Whether the handle's receiver has answered in a version of HTTP in which it speaks when it is asked and not
    /// before. In HTTP/2 it may, and libcurl listens when it uses the connection again.
    static func speaksInTurn(_ handle: UnsafeMutableRawPointer?) -> Bool {
        guard let handle else { return false }
        var version = 0
        guard ccurl_getinfo_long(handle, CURLINFO_HTTP_VERSION, &version) == CURLE_OK else { return false }
        return version == Int(CURL_HTTP_VERSION_1_1) || version == Int(CURL_HTTP_VERSION_1_0)
    }

    // MARK: A request

    /// Sets the options of this request. On a refusal the slot is to be cleared and may be used again.
    func prepare(_ request: WebhookRequest) throws(RequestRefusal) {
        clear()
        let url = try Self.parse(request.url)
        self.url = url
        egress = EgressGate(policy: egressPolicy, application: request.application, url: url)
        // A handle that was used before keeps its last URL's text beside the parsed one, reports it, and copies it when
        // it repeats a request: nothing may ever be sent to where the last one went.
        try check(CURLOPT_URL, ccurl_setopt_string(handle, CURLOPT_URL, nil))
        try check(CURLOPT_CURLU, ccurl_setopt_url(handle, url.handle.pointer))
        // Over TLS the server may speak HTTP/2, and waiting for the first connection to say so saves all the others.
        try set(CURLOPT_PIPEWAIT, mayShare ? 1 : 0)
        time = RequestTime(
            at: MonotonicClock.nanoseconds, connectingMilliseconds: request.connectTimeoutMilliseconds,
            milliseconds: request.timeoutMilliseconds)
        try setLimits(at: time.start)
        let fields = try RequestHeaders(request.headers)
        guard let list = fields.makeList() else { throw RequestRefusal("libcurl has no memory for the headers") }
        headers = list
        try check(CURLOPT_HTTPHEADER, ccurl_setopt_list(handle, CURLOPT_HTTPHEADER, list))
        // A POST in all but its name. Nil takes the name of the last request back.
        let name = request.method == .post ? nil : request.method.rawValue
        try check(CURLOPT_CUSTOMREQUEST, ccurl_setopt_string(handle, CURLOPT_CUSTOMREQUEST, name))
        try setBody(request.body)
        responseLimit = max(0, request.responseLimit)
        advance(state.prepare())
    }

    /// Gives libcurl the rest of the request's time.
    func setLimits(at now: UInt64) throws(RequestRefusal) {
        microsecondsBefore = Int64((now - time.start) / 1000)
        let left = time.left(at: now)
        try set(CURLOPT_CONNECTTIMEOUT_MS, left.connecting)
        try set(CURLOPT_TIMEOUT_MS, left.all)
    }

    /// libcurl gets the request.
    func handOver() { advance(state.handOver()) }

    /// The request waits for its host's addresses until that moment.
    func awaitAddresses(until moment: UInt64) { advance(state.awaitAddresses(until: moment)) }

    private func advance(_ isAllowed: Bool) {
        precondition(isAllowed, "the loop's step is not allowed in phase \(state.phase)")
    }

    /// Whether libcurl was about to send the running request.
    var hasBegun: Bool { state.hasBegun }

    /// Whether others may use the request's connection at the same time, as HTTP/2 has it.
    var mayShare: Bool { url?.scheme == "https" }

    var host: String? { url?.host }
    var port: Int { url?.port ?? 0 }

    /// Whether libcurl may look the host up itself; if not, the loop does, a few times at most.
    func mayLookUp() -> Bool {
        guard let host, HostLookUp.isNeeded(for: host) else { return true }
        // The connection that it was given has come to nothing. libcurl counts the next one's time from here too.
        if hasBegun { time.connectsAnew(at: MonotonicClock.nanoseconds) }
        _ = state.needAddresses()
        return false
    }

    func setNames(_ lines: [String]) throws(RequestRefusal) {
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines {
            guard let longer = curl_slist_append(list, line) else {
                curl_slist_free_all(list)
                throw RequestRefusal("libcurl has no memory for a name")
            }
            list = longer
        }
        _ = ccurl_setopt_list(handle, CURLOPT_RESOLVE, list)
        curl_slist_free_all(names)
        names = list
    }

    /// Forgets the request; libcurl is left without a pointer into it.
    func clear() {
        // Taking an option back allocates nothing and cannot fail.
        _ = ccurl_setopt_url(handle, nil)
        _ = ccurl_setopt_list(handle, CURLOPT_HTTPHEADER, nil)
        _ = ccurl_setopt_list(handle, CURLOPT_RESOLVE, nil)
        _ = ccurl_setopt_pointer(handle, CURLOPT_POSTFIELDS, nil)
        _ = ccurl_setopt_long(handle, CURLOPT_FRESH_CONNECT, 0)
        _ = ccurl_setopt_long(handle, CURLOPT_FORBID_REUSE, 0)
        state.clear()
        curl_slist_free_all(headers)
        curl_slist_free_all(names)
        if let body = requestBody, body.count > CurlLimits.keptBodyBytes {
            body.deallocate()
            requestBody = nil
        }
        (url, headers, names, egress) = (nil, nil, nil, nil)
        (hasAddresses, microsecondsBefore) = (false, 0)
        (responseBody, isTruncated, head) = ([], false, ResponseHead())
        errorBuffer[0] = 0
    }

    /// The bytes are copied once, because libcurl reads them where they are until the transfer is over.
    private func setBody(_ body: [UInt8]) throws(RequestRefusal) {
        // Without an address libcurl would read the body from standard input.
        if (requestBody?.count ?? 0) < max(1, body.count) {
            requestBody?.deallocate()
            requestBody = .allocate(byteCount: max(CurlLimits.keptBodyBytes, body.count), alignment: 1)
        }
        requestBody?.copyBytes(from: body)
        let option = CURLOPT_POSTFIELDSIZE_LARGE
        try check(option, ccurl_setopt_off_t(handle, option, curl_off_t(body.count)))
        try check(CURLOPT_POSTFIELDS, ccurl_setopt_pointer(handle, CURLOPT_POSTFIELDS, requestBody?.baseAddress))
    }

    private static func parse(_ url: String) throws(RequestRefusal) -> CurlURL {
        do {
            return try CurlURL(parsing: url)
        } catch {
            throw RequestRefusal(TransferFailure(kind: .unusableURL, message: error.message))
        }
    }

    // MARK: The response

    /// The kept part of the response.
    var received: ReceivedParts { ReceivedParts(head: head, body: responseBody, isTruncated: isTruncated) }

    /// libcurl's own text of the error; empty if there is none.
    var errorText: String { String(cString: errorBuffer) }

    /// Keeps what fits. Taking fewer bytes than offered makes libcurl end the transfer at once.
    private func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
        let kept = min(bytes.count, responseLimit - responseBody.count)
        responseBody.append(contentsOf: bytes.prefix(kept))
        isTruncated = kept < bytes.count
        return kept
    }

    private static let bodyCallback: curl_write_callback = { bytes, size, count, context in
        guard let bytes, let context else { return 0 }
        let slot = Unmanaged<EasySlot>.fromOpaque(context).takeUnretainedValue()
        return slot.receive(UnsafeRawBufferPointer(start: bytes, count: size * count))
    }

    private static let headCallback: curl_write_callback = { bytes, size, count, context in
        guard let bytes, let context else { return 0 }
        let slot = Unmanaged<EasySlot>.fromOpaque(context).takeUnretainedValue()
        return slot.head.receive(line: UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
    }

    // MARK: The guard

    func mayOpen(_ address: IPAddress?, port: Int) -> Bool { egress?.mayOpen(address, port: port) ?? false }

    /// A socket that the guard allows was not to be had.
    func noSocket(because code: Int32) { egress?.noSocket(because: code) }

    /// Whether the request may be sent to the address; libcurl sends it next.
    func mayBegin(at address: IPAddress?, port: Int, from ownPort: Int) -> Bool {
        guard egress?.mayUse(address, port: port) == true, let address else { return false }
        let connection = Connection(peer: address, peerPort: port, ownPort: ownPort)
        let now = MonotonicClock.nanoseconds
        guard silent?.contains(connection, at: now) != true else { return false }
        return state.send(over: connection, at: now)
    }

    /// Lets the request, which is handed over again, go over a connection of its own. That connection ends with it: the
    /// next request would find the other one first again, and open one more.
    func useOwnConnection(at now: UInt64) throws(RequestRefusal) {
        advance(state.useOwnConnection())
        if hasBegun { time.connectsAnew(at: now) }
        try set(CURLOPT_FRESH_CONNECT, 1)
        try set(CURLOPT_FORBID_REUSE, 1)
        try setLimits(at: now)
    }

    // MARK: Options

    private func set(_ option: CURLoption, _ value: Int) throws(RequestRefusal) {
        try check(option, ccurl_setopt_long(handle, option, value))
    }

    private func set(_ option: CURLoption, _ value: String) throws(RequestRefusal) {
        try check(option, ccurl_setopt_string(handle, option, value))
    }

    private func check(_ option: CURLoption, _ code: CURLcode) throws(RequestRefusal) {
        guard code != CURLE_OK else { return }
        let name = curl_easy_option_by_id(option).map { String(cString: $0.pointee.name) }
        throw RequestRefusal(TransferFailure(settingUp: name ?? "option \(option.rawValue)", code))
    }
}
