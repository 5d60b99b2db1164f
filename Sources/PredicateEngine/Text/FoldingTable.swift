/// The Unicode data that string comparison needs, a table each in the files beside this one.
///
/// `Scripts/make-folding-table.py` makes the tables and says what their fields are; `Folding` looks things up in them.
enum FoldingTable {}
