//! What must not compile.

/// [AC-360] [AC-361]
#[test]
fn what_must_not_compile_does_not() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/cases/*.rs");
}
