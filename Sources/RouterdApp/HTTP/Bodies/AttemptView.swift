package import Router

extension Caller {
    /// Whether the caller runs the daemon, and may know its network: a key with scope `admin` for all applications, or
    /// any caller in development mode.
    package var isOperator: Bool {
        guard let key else { return token == nil }
        return key.application == nil && key.scopes.contains(.admin)
    }
}

extension AttemptRecord {
    /// The attempt as a caller may see it.
    package func shown(to caller: Caller) -> AttemptRecord { caller.isOperator ? self : withoutInternalAddresses }

    /// The attempt as a tenant sees it: without the addresses that names have in the operator's network.
    ///
    /// A tenant chooses the names of its endpoints. If errors named the addresses, or only their kind, each name would be
    /// a question to the operator's name servers.
    package var withoutInternalAddresses: AttemptRecord {
        var attempt = self
        if let address = metrics.remoteAddress, InternalAddresses.removed(from: address) != address {
            attempt.metrics.remoteAddress = nil
        }
        if let failure {
            attempt.failure?.message =
                failure.kind == .egressRefused
                ? "the operator's network does not let webhooks go there; the operator sees the reason"
                : InternalAddresses.removed(from: failure.message)
        }
        return attempt
    }
}

/// Finds addresses in a text that are not public.
enum InternalAddresses {
    /// The text with a word in place of each such address.
    static func removed(from text: String) -> String {
        var result = ""
        var rest = text[...]
        while let start = rest.firstIndex(where: isPart) {
            result += rest[..<start]
            let end = rest[start...].firstIndex { !isPart($0) } ?? rest.endIndex
            result += shown(rest[start..<end])
            rest = rest[end...]
        }
        return result + rest
    }

    /// A word of the characters of addresses, which may be an address, and may have a port or a full stop behind it.
    private static func shown(_ word: Substring) -> String {
        var address = word
        while let last = address.last, last == "." || last == ":" { address = address.dropLast() }
        var candidates = [word, address]
        if let colon = address.lastIndex(of: ":") { candidates.append(address[..<colon]) }
        let isInternal = candidates.contains { candidate in
            IPAddress(candidate).map { $0.classification.addressClass.tier != .public } ?? false
        }
        return isInternal ? "(internal)" : String(word)
    }

    private static func isPart(_ character: Character) -> Bool {
        character.isHexDigit || character == "." || character == ":"
    }
}
