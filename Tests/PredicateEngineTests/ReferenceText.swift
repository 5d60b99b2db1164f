import Foundation

/// Text as the naive oracle sees it: decomposed by Foundation and folded by the standard library, scalar by scalar,
/// with none of the engine's tables.
struct ReferenceText {
    /// A scalar, and which scalar of the text as given it came of.
    struct Element {
        var scalar: Unicode.Scalar
        var unit: Int
    }

    var elements: [Element] = []

    /// - Parameters:
    ///   - decomposing: false leaves the text as it is, whatever the other two say.
    init(_ text: String, decomposing: Bool, foldingCase: Bool, strippingMarks: Bool) {
        for (unit, scalar) in text.unicodeScalars.enumerated() {
            let parts = decomposing ? String(scalar).decomposedStringWithCanonicalMapping : String(scalar)
            elements += parts.unicodeScalars.map { Element(scalar: $0, unit: unit) }
        }
        guard decomposing else { return }
        sortMarks()
        if strippingMarks { elements.removeAll { ![0, 8].contains(Self.combiningClass($0.scalar)) } }
        if foldingCase {
            elements = elements.flatMap { element in
                Self.caseFolded(element.scalar).map { Element(scalar: $0, unit: element.unit) }
            }
        }
    }

    /// The exchange sort of the Unicode Standard, 3.11.
    private mutating func sortMarks() {
        for end in elements.indices {
            var index = end
            while index > 0 {
                let own = Self.combiningClass(elements[index].scalar)
                guard own != 0, Self.combiningClass(elements[index - 1].scalar) > own else { break }
                elements.swapAt(index, index - 1)
                index -= 1
            }
        }
    }

    /// The result of lower case, with the three scalars of the tests' alphabet that fold otherwise.
    private static func caseFolded(_ scalar: Unicode.Scalar) -> [Unicode.Scalar] {
        switch scalar {
        case "ß", "ẞ": ["s", "s"]
        case "ς": ["σ"]
        case "ﬃ": ["f", "f", "i"]
        case "ŉ": ["\u{2BC}", "n"]
        default: Array(scalar.properties.lowercaseMapping.unicodeScalars)
        }
    }

    private static func combiningClass(_ scalar: Unicode.Scalar) -> UInt8 {
        scalar.properties.canonicalCombiningClass.rawValue
    }

    var scalars: [Unicode.Scalar] { elements.map(\.scalar) }

    /// Whether a match may begin or end before an element.
    func canCut(at index: Int, decomposing: Bool) -> Bool {
        guard decomposing, index > 0, index < elements.count else { return true }
        let scalar = elements[index].scalar
        let isJamo = (0x1161...0x1175).contains(scalar.value) || (0x11A8...0x11C2).contains(scalar.value)
        return elements[index].unit != elements[index - 1].unit && Self.combiningClass(scalar) == 0 && !isJamo
    }

    /// Whether a new unit, or the end, is at the index.
    func isUnitEdge(at index: Int) -> Bool {
        index == 0 || index >= elements.count || elements[index].unit != elements[index - 1].unit
    }
}
