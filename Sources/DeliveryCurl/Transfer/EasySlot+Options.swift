import CCurl

extension EasySlot {
    /// Options with a number that every request has. Some repeat libcurl's default: what safety rests on is said here.
    static let fixedNumbers: [(option: CURLoption, value: Int)] = [
        (CURLOPT_POST, 1),
        // No signals: there are other threads.
        (CURLOPT_NOSIGNAL, 1),
        // A redirect is a receiver's mistake to be shown; following it would send a signed request to a stranger.
        (CURLOPT_FOLLOWLOCATION, 0),
        (CURLOPT_UNRESTRICTED_AUTH, 0),
        (CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue)),
        (CURLOPT_SSL_VERIFYPEER, 1),
        (CURLOPT_SSL_VERIFYHOST, 2),
        (CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
        (CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS)),
        // An answer without a status line is no answer.
        (CURLOPT_HTTP09_ALLOWED, 0),
        // Nothing asks for compression; if a receiver compresses all the same, the bytes are kept as they came.
        (CURLOPT_HTTP_CONTENT_DECODING, 0),
        // With a cache of names libcurl 7.88 looks through all of it after every transfer, addresses included.
        // Connections are kept, so that few names are looked up twice.
        (CURLOPT_DNS_CACHE_TIMEOUT, 0),
        (CURLOPT_TCP_NODELAY, 1),
        (CURLOPT_TCP_KEEPALIVE, 1),
        // The transport has libcurl look up no names (`EasySlot+LookUp.swift`). Where it does, a download that ends
        // meanwhile is not to wait for the look-up's thread.
        (CURLOPT_QUICK_EXIT, 1),
    ]

    /// Options with a string that every request has.
    static let fixedStrings: [(option: CURLoption, value: String)] = [
        (CURLOPT_PROTOCOLS_STR, "http,https"),
        // libcurl 7.88 takes no empty list. Nothing is followed anyway.
        (CURLOPT_REDIR_PROTOCOLS_STR, "https"),
        // Not nothing but the empty string: else `http_proxy` and its like are read from the environment.
        (CURLOPT_PROXY, ""),
        (CURLOPT_NOPROXY, "*"),
    ]
}
