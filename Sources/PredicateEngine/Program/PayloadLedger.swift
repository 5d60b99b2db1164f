/// The state of one evaluation besides the payload: its work, and the texts that it has folded.
///
/// Folding text that is not ASCII takes a hundred times as long as comparing it, and a predicate may ask for the same
/// text in every comparison, by key paths that differ. So a text is folded once for each form, whichever path leads to
/// it.
struct PayloadLedger {
    /// The steps taken so far: values visited and bytes folded or compared.
    var work = 0
    private var folded: [Key: FoldedText] = [:]

    /// A text by the place of its bytes. The payload and the predicate hold all texts as long as the evaluation takes,
    /// so no two of them ever have the same place.
    private struct Key: Hashable {
        let place: UInt
        let form: Form
    }

    /// The text in a form.
    mutating func fold(_ text: Predicate.Text, into form: Form) -> FoldedText {
        if form == .exact { return FoldedText(unseamed: text.utf8) }
        work += text.utf8.count
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return Folding.fold(text.utf8, into: form) }
        let place = text.utf8.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
        let key = Key(place: place, form: form)
        if let known = folded[key] { return known }
        let result = Folding.fold(text.utf8, into: form)
        folded[key] = result
        return result
    }
}
