/// Which of two nodes of the same rank comes first, asked of their owner.
///
/// A plain function and a pointer to what it looks at, so that asking counts no references. The pointer has to stay
/// valid for the call that it is passed to, and no longer.
package struct NodeOrder {
    private let context: UnsafeRawPointer
    private let function: @convention(c) (UnsafeRawPointer, UInt32, UInt32) -> Bool

    package init(
        _ context: UnsafeRawPointer, _ function: @escaping @convention(c) (UnsafeRawPointer, UInt32, UInt32) -> Bool
    ) {
        self.context = context
        self.function = function
    }

    @inline(__always)
    func isBefore(_ left: UInt32, _ right: UInt32) -> Bool { function(context, left, right) }
}
