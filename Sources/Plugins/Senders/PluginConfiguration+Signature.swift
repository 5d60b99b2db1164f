import RouterPlugin

extension PluginConfiguration {
    /// The name of a header in lower case.
    func headerName(_ field: String) throws(PluginConfigurationError) -> String? {
        guard let text = try string(field) else { return nil }
        guard let name = HeaderName(text) else {
            throw invalid(field, because: "must be the name of an HTTP header")
        }
        return name.text
    }

    /// One of the raw values of a type.
    func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ field: String
    ) throws(PluginConfigurationError) -> Choice? {
        guard let text = try string(field) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw invalid(field, because: "must be one of: \(names)")
        }
        return choice
    }

    /// Printable ASCII characters of a length.
    func printable(_ field: String, in lengths: ClosedRange<Int>) throws(PluginConfigurationError) -> String? {
        guard let text = try string(field) else { return nil }
        guard lengths.contains(text.utf8.count), text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            let range = "\(lengths.lowerBound) to \(lengths.upperBound)"
            throw invalid(field, because: "must have \(range) printable ASCII characters")
        }
        return text
    }

    /// A character that stands between signatures and in none of them.
    func separator(_ field: String) throws(PluginConfigurationError) -> UInt8? {
        guard let text = try string(field) else { return nil }
        guard text.utf8.count == 1, let byte = text.utf8.first, " ,;|&".utf8.contains(byte) else {
            throw invalid(field, because: "must be a space or one of: , ; | &")
        }
        return byte
    }

    /// Seconds that a signed timestamp may differ from the time of arrival.
    func toleranceSeconds(timestampHeader: String?) throws(PluginConfigurationError) -> Int64? {
        let field = "toleranceSeconds"
        guard let seconds = try integer(field, in: 1...SenderLimits.maximumToleranceSeconds) else { return nil }
        guard timestampHeader != nil else {
            throw invalid(field, because: "means nothing without the field timestampHeader")
        }
        return seconds
    }

    /// The signed bytes as text with braces.
    func signedContent(_ field: String) throws(PluginConfigurationError) -> SignedContent? {
        guard let text = try printable(field, in: 1...SenderLimits.maximumOptionLength) else { return nil }
        do {
            return try SignedContent(parsing: text)
        } catch {
            throw invalid(field, because: error.reason)
        }
    }
}
