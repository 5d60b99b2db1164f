/// A subject prepared for decisions: its forms side by side in memory that lives as long as the question.
///
///     ASCII      given, lower case: every form is one of the two
///     else       five forms, each with its seams
///
/// Every text is followed by eight bytes that may be read and have no meaning, so that words can be loaded at any
/// offset.
struct PreparedSubject {
    let isASCII: Bool
    /// Whether the text is ASCII without control characters: no line ends anywhere in it.
    let isPlain: Bool
    /// Whether the text is ASCII without capitals, or no predicate needs another case: `lower` is then `given`.
    let isLower: Bool
    /// The text as given.
    let given: TextView
    /// ASCII text in lower case; the text as given if no predicate needs another case.
    let lower: TextView
    /// By form; nil for ASCII.
    private let forms: UnsafeMutablePointer<FormOfSubject>?
    /// The orders of suffixes of ASCII that predicates have needed.
    private let orders: UnsafeMutablePointer<OrdersOfSubject>?

    @inline(__always)
    func view(_ form: Form) -> TextView {
        if let forms { return forms[form.rawValue].view }
        return form.isCaseFolded ? lower : given
    }

    /// The subject as a pattern of a form, read before it was folded. It is made when it is first asked for, on the
    /// heap, which adds 32 steps to `work` for each byte; nil for ASCII.
    @inline(never)
    func pattern(_ form: Form, _ work: inout Int) -> [LikeElement]? {
        guard let forms else { return nil }
        if let pattern = forms[form.rawValue].pattern { return pattern }
        work += 32 * given.count
        let bytes = Array(UnsafeBufferPointer(start: given.bytes, count: given.count))
        let pattern = Glob(bytes, form: form).elements
        forms[form.rawValue].pattern = pattern
        return pattern
    }

    /// The order of the suffixes of a form of `length` bytes; nil for a short text, and as long as the searches so far have
    /// cost less than it would. It is made on the heap, once for all that ask.
    @inline(__always)
    func occurrences(_ form: Form, _ length: Int, _ work: inout Int) -> UnsafePointer<Occurrences>? {
        work < Occurrences.price(length) || length <= Occurrences.shortText ? nil : ordered(form, &work)
    }

    @inline(never)
    private func ordered(_ form: Form, _ work: inout Int) -> UnsafePointer<Occurrences>? {
        let place =
            if let forms {
                forms[form.rawValue].order
            } else if let orders {
                form.isCaseFolded && !isLower ? orders.pointee.lower : orders.pointee.given
            } else {
                Optional<UnsafeMutablePointer<Occurrences>>.none
            }
        if let place { return UnsafePointer(place) }
        guard forms != nil || orders != nil else { return nil }
        let made = UnsafeMutablePointer<Occurrences>.allocate(capacity: 1)
        made.initialize(to: Occurrences(of: view(form), &work))
        if let forms {
            forms[form.rawValue].order = made
        } else if form.isCaseFolded && !isLower {
            orders?.pointee.lower = made
        } else {
            orders?.pointee.given = made
        }
        return UnsafePointer(made)
    }

    /// Prepares the bytes of a text and hands the subject over. `folds` says whether any predicate needs a case-folded
    /// form.
    ///
    /// ASCII of up to `greatest` bytes needs no heap: memory of a size that is known when this is compiled lies on the
    /// stack. It comes in two sizes, because the greater one costs as much time as its length to set up.
    @inline(__always)
    static func with<Result>(
        _ bytes: UnsafeBufferPointer<UInt8>, folds: Bool, _ body: (PreparedSubject) -> Result
    ) -> Result {
        if bytes.count <= usual {
            return withUnsafeTemporaryAllocation(byteCount: 2 * (usual + 16), alignment: 8) { buffer in
                guard let base = buffer.baseAddress else { return body(PreparedSubject(nothing: ())) }
                return lay(bytes, at: base, folds, body)
            }
        }
        return withLong(bytes, folds, body)
    }

    /// The greatest length of subjects that are prepared in a kilobyte of stack.
    private static var usual: Int { 496 }
    /// The greatest length of subjects that are prepared on the stack.
    static var greatest: Int { 4096 }

    @inline(never)
    private static func withLong<Result>(
        _ bytes: UnsafeBufferPointer<UInt8>, _ folds: Bool, _ body: (PreparedSubject) -> Result
    ) -> Result {
        guard bytes.count <= greatest else {
            return withUnsafeTemporaryAllocation(byteCount: 2 * (bytes.count + 16), alignment: 8) { buffer in
                guard let base = buffer.baseAddress else { return body(PreparedSubject(nothing: ())) }
                return lay(bytes, at: base, folds, body)
            }
        }
        var words = InlineArray<1028, UInt64>(repeating: 0)
        var span = words.mutableSpan
        return span.withUnsafeMutableBytes { buffer in
            guard let base = buffer.baseAddress else { return body(PreparedSubject(nothing: ())) }
            return lay(bytes, at: base, folds, body)
        }
    }

    /// Prepares a text at an address with room for it and for its lower case, each followed by eight bytes.
    @inline(__always)
    private static func lay<Result>(
        _ bytes: UnsafeBufferPointer<UInt8>, at base: UnsafeMutableRawPointer, _ folds: Bool,
        _ body: (PreparedSubject) -> Result
    ) -> Result {
        let count = bytes.count
        let traits = copy(UnsafeRawBufferPointer(bytes), to: base)
        guard traits.isASCII else { return withForms(bytes, body) }
        let given = base.assumingMemoryBound(to: UInt8.self)
        let isLower = !folds || !traits.hasCapitals
        var lower = given
        if !isLower {
            let room = (count + 15) & ~7
            lowercase(base, into: base + room, count)
            lower = given + room
        }
        var orders = OrdersOfSubject()
        return withUnsafeMutablePointer(to: &orders) { orders in
            defer { orders.pointee.free() }
            return body(
                PreparedSubject(
                    isASCII: true, isPlain: traits.isPlain, isLower: isLower,
                    given: TextView(bytes: given, count: count, seams: nil),
                    lower: TextView(bytes: lower, count: count, seams: nil), forms: nil, orders: orders))
        }
    }

    private init(
        isASCII: Bool, isPlain: Bool, isLower: Bool, given: TextView, lower: TextView,
        forms: UnsafeMutablePointer<FormOfSubject>?, orders: UnsafeMutablePointer<OrdersOfSubject>?
    ) {
        self.isASCII = isASCII
        self.isPlain = isPlain
        self.isLower = isLower
        self.given = given
        self.lower = lower
        self.forms = forms
        self.orders = orders
    }

    /// The empty text, should there be no memory to lay one out in.
    private init(nothing: Void) {
        self.init(isASCII: true, isPlain: true, isLower: true, given: .empty, lower: .empty, forms: nil, orders: nil)
    }

    /// The traits of a text that are found while it is copied.
    private struct Traits {
        private static var tops: UInt64 { 0x8080_8080_8080_8080 }
        private static var blanks: UInt64 { 0x2020_2020_2020_2020 }

        /// The top bit of a byte says that it is not ASCII, is a control character or not ASCII, is a capital.
        private var (foreign, low, capital): (UInt64, UInt64, UInt64) = (0, 0, 0)

        var isASCII: Bool { foreign & Self.tops == 0 }
        var isPlain: Bool { (foreign | low) & Self.tops == 0 }
        var hasCapitals: Bool { capital != 0 }

        /// A byte below 0x20 borrows from its top bit when 0x20 is taken from it.
        @inline(__always)
        mutating func see(_ word: UInt64) {
            foreign |= word
            low |= (word &- Self.blanks) & ~word
            capital |= Self.capitals(of: word)
        }

        /// The same for fewer than eight bytes; the others are zero and are taken for blanks.
        @inline(__always)
        mutating func seeLast(_ count: Int, _ word: UInt64) {
            see(word | Self.blanks & (.max &<< (UInt64(count) &* 8)))
        }

        /// Eight letters at a time: a byte in A…Z carries into its top bit when 0x80 - "A" is added, and does not when
        /// 0x7F - "Z" is.
        @inline(__always)
        static func capitals(of word: UInt64) -> UInt64 {
            let low = word & ~tops
            return (low &+ 0x3F3F_3F3F_3F3F_3F3F) & ~(low &+ 0x2525_2525_2525_2525) & ~word & tops
        }
    }

    /// Copies a text, a word at a time, with zeros behind it up to the end of its last word.
    @inline(__always)
    private static func copy(_ bytes: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer) -> Traits {
        var traits = Traits()
        guard let source = bytes.baseAddress else { return traits }
        let (count, whole) = (bytes.count, bytes.count & ~7)
        var offset = 0
        while offset < whole {
            let word = source.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            target.storeBytes(of: word, toByteOffset: offset, as: UInt64.self)
            traits.see(word)
            offset &+= 8
        }
        guard count > whole else { return traits }
        var last: UInt64 = 0
        if whole > 0 {
            // The text's last eight bytes, without those that have been copied.
            last = source.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self) &>> UInt64((8 &- (count & 7)) &* 8)
        } else {
            for index in 0..<count { last |= UInt64(bytes[index]) &<< UInt64(index &* 8) }
        }
        target.storeBytes(of: last, toByteOffset: whole, as: UInt64.self)
        traits.seeLast(count & 7, last)
        return traits
    }

    @inline(never)
    private static func lowercase(_ base: UnsafeMutableRawPointer, into target: UnsafeMutableRawPointer, _ count: Int) {
        for offset in stride(from: 0, to: count, by: 8) {
            let word = base.load(fromByteOffset: offset, as: UInt64.self)
            target.storeBytes(of: word | Traits.capitals(of: word) >> 2, toByteOffset: offset, as: UInt64.self)
        }
    }

    /// The five forms of a text that is not ASCII, on the heap.
    private static func withForms<Result>(
        _ bytes: UnsafeBufferPointer<UInt8>, _ body: (PreparedSubject) -> Result
    ) -> Result {
        let texts = (0..<Form.count).map { Folding.fold(Array(bytes), into: Form(rawValue: $0) ?? .exact) }
        let room = texts.reduce(0) { $0 + 2 * ($1.bytes.count + 8) }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: room) { buffer in
            withUnsafeTemporaryAllocation(of: FormOfSubject.self, capacity: Form.count) { laid in
                guard let base = buffer.baseAddress, let forms = laid.baseAddress else {
                    return body(PreparedSubject(nothing: ()))
                }
                buffer.initialize(repeating: 0)
                var next = base
                for (index, text) in texts.enumerated() {
                    let hasSeams = text.copy(bytes: next, seams: next + text.bytes.count + 8)
                    let seams = hasSeams ? UnsafePointer(next + text.bytes.count + 8) : nil
                    (forms + index).initialize(
                        to: FormOfSubject(
                            view: TextView(bytes: UnsafePointer(next), count: text.bytes.count, seams: seams)))
                    next += 2 * (text.bytes.count + 8)
                }
                defer {
                    for form in laid.indices { laid[form].order.map(OrdersOfSubject.free) }
                    laid.deinitialize()
                }
                return body(
                    PreparedSubject(
                        isASCII: false, isPlain: false, isLower: false, given: forms[0].view, lower: forms[0].view,
                        forms: forms, orders: nil))
            }
        }
    }
}

/// A form of a subject that is not ASCII.
private struct FormOfSubject {
    let view: TextView
    /// The subject as a pattern, once a predicate has needed it.
    var pattern: [LikeElement]?
    /// The order of its suffixes, once searches have cost enough.
    var order: UnsafeMutablePointer<Occurrences>?
}

/// The orders of suffixes of an ASCII subject, as given and in lower case.
private struct OrdersOfSubject {
    var given: UnsafeMutablePointer<Occurrences>?
    var lower: UnsafeMutablePointer<Occurrences>?

    @inline(__always)
    func free() {
        given.map(Self.free)
        lower.map(Self.free)
    }

    @inline(never)
    static func free(_ order: UnsafeMutablePointer<Occurrences>) {
        order.pointee.free()
        order.deallocate()
    }
}

extension FoldedText {
    /// Copies the text out; returns whether it has seams.
    fileprivate func copy(bytes target: UnsafeMutablePointer<UInt8>, seams seamTarget: UnsafeMutablePointer<UInt8>)
        -> Bool
    {
        for (index, byte) in bytes.enumerated() { target[index] = byte }
        for (index, seam) in seams.enumerated() { seamTarget[index] = seam }
        return !seams.isEmpty
    }
}
