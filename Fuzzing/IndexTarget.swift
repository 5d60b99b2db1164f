/// libFuzzer's entry: one history of an index.
@_cdecl("LLVMFuzzerTestOneInput")
func indexTarget(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    if let fault = IndexProbe.fault(in: Array(UnsafeBufferPointer(start: data, count: count))) {
        fatalError(fault)
    }
    return 0
}
