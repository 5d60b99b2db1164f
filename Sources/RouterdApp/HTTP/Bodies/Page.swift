import Foundation
import HTTPTypes
import RouterPlugin

/// A part of a list that is ordered by a text key, while it is written.
///
/// It ends after a number of elements or of bytes. Its cursor is the key of the last element, written or left out.
package struct Page<Element: Sendable>: Sendable {
    package let elements: ArraySlice<Element>
    /// Whether the list goes on behind the elements.
    package let hasMore: Bool
    private let key: @Sendable (Element) -> String
    /// The place of the next element to write.
    private var place: Int
    private var entries: [UInt8] = []

    /// - Parameter hasMore: Whether the list goes on behind the elements.
    package init(_ elements: ArraySlice<Element>, hasMore: Bool, key: @escaping @Sendable (Element) -> String) {
        (self.elements, self.hasMore, self.key) = (elements, hasMore, key)
        place = elements.startIndex
    }

    /// - Parameters:
    ///   - elements: All elements of the list, in order of the key's bytes.
    ///   - after: The key after which the page begins.
    package init(of elements: [Element], after: String?, limit: Int, key: @escaping @Sendable (Element) -> String) {
        var start = elements.startIndex
        if let after {
            start = elements.firstIndex { after.utf8.lexicographicallyPrecedes(key($0).utf8) } ?? elements.endIndex
        }
        let part = elements[start...].prefix(limit)
        self.init(part, hasMore: part.endIndex < elements.endIndex, key: key)
    }

    /// Writes elements up to a number of bytes in all, and the first one in any case.
    ///
    /// - Parameter entry: Writes an element; nil leaves it out.
    /// - Returns: Whether no element is left.
    @discardableResult
    package mutating func write(atMost bytes: Int, _ entry: (Element) -> [UInt8]?) -> Bool {
        while place < elements.endIndex {
            if let written = entry(elements[place]) {
                guard entries.isEmpty || entries.count + written.count < bytes else { return false }
                if !entries.isEmpty { entries.append(UInt8(ascii: ",")) }
                entries += written
            }
            place += 1
        }
        return true
    }

    /// The page as JSON: the written elements under the list's name, and the cursor of the next page or null.
    package func body(_ name: String) -> [UInt8] {
        let goesOn = place < elements.endIndex || hasMore
        let last = goesOn ? elements[..<place].last : nil
        return JSONWriter.object { body in
            body.raw(name, [UInt8(ascii: "[")] + entries + [UInt8(ascii: "]")])
            body.field("cursor", last.map { Cursor.write(key($0)) })
        }
    }
}

/// The cursor at the end of a page, encoded so that clients do not build one themselves.
package enum Cursor {
    package static func write(_ key: String) -> String { Data(key.utf8).base64EncodedString().urlSafe }

    package static func read(_ text: String?) throws(Problem) -> String? {
        guard let text else { return nil }
        guard let bytes = Data(base64Encoded: text.fromURLSafe), let key = String(validating: bytes, as: UTF8.self)
        else {
            throw Problem.invalidCursor
        }
        return key
    }
}

extension Problem {
    /// The text is no cursor of the list.
    static var invalidCursor: Problem {
        Problem(.badRequest, "invalid-cursor", "This is not a cursor of this list.")
    }
}

extension String {
    fileprivate var urlSafe: String {
        String(compactMap { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 == "=" ? nil : $0 })
    }
    fileprivate var fromURLSafe: String {
        let text = map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        return String(text) + String(repeating: "=", count: (4 - text.count % 4) % 4)
    }
}
