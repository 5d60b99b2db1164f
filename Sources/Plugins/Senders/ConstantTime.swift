import Crypto

/// Comparison of secrets without a hint at where they differ.
enum ConstantTime {
    /// Whether both are the same bytes; takes the same time wherever they differ.
    ///
    /// Digests are compared, so that not even the length of a secret shows.
    static func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        let (left, right) = (SHA256.hash(data: left), SHA256.hash(data: right))
        return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
