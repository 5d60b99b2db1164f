/// Which of two nodes of the same rank comes first, asked of their owner.
///
/// A plain function and a pointer to what it looks at, so that asking counts no references. The pointer has to stay
/// valid for the call that it is passed to, and no longer.
package struct NodeOrder {
    private let context: UnsafeRawPointer
    private let function: @convention(c) (UnsafeRawPointer, UnsafeMutableRawPointer, UInt32, UInt32) -> Bool

    /// - Parameter function: Is given the pointer, what `NodePlaces` are made of, and the two nodes.
    package init(
        _ context: UnsafeRawPointer,
        _ function: @escaping @convention(c) (UnsafeRawPointer, UnsafeMutableRawPointer, UInt32, UInt32) -> Bool
    ) {
        self.context = context
        self.function = function
    }

    @inline(__always)
    func isBefore(_ left: UInt32, _ right: UInt32, _ nodes: NodePlaces) -> Bool {
        function(context, nodes.pieces, left, right)
    }
}
