/// Which of two nodes of the same rank comes first, asked of their owner.
///
/// A plain function and a pointer to its data, so that a call counts no references. The pointer has to stay valid for
/// the call that it is passed to, and no longer.
package struct NodeOrder {
    private let context: UnsafeRawPointer
    private let function: @convention(c) (UnsafeRawPointer, UnsafeMutableRawPointer, UInt32, UInt32) -> Bool

    /// - Parameter function: The function gets the pointer, the pieces of `NodePlaces`, and the two nodes.
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
