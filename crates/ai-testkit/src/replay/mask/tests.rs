#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs, reason = "tests fail by panicking")]

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::cut::Cut;

const SECRET: &str = "sk-a/b+C\"d==7";

fn masked(body: &[u8], cut: &Cut) -> Vec<u8> {
    let mut masker = Masker::new([SECRET, "short"]);
    let mut out: Vec<u8> =
        cut.cut(&Bytes::copy_from_slice(body)).iter().flat_map(|piece| masker.push(piece)).collect();
    out.extend(masker.end());
    out
}

#[test]
fn a_secret_is_found_in_every_form_and_nothing_else_is_changed() {
    let body =
        r#"a sk-a/b+C"d==7 b sk-a/b+C\"d==7 c sk-a\/b+C\"d==7 d sk%2Da%2Fb%2BC%22d%3D%3D7 e short f sk-a/b"#;
    assert_eq!(
        String::from_utf8(masked(body.as_bytes(), &Cut::Whole)).unwrap(),
        "a *** b *** c *** d *** e short f sk-a/b"
    );
    let encoded = STANDARD_NO_PAD.encode(SECRET);
    assert_eq!(masked(format!("<{encoded}=>").as_bytes(), &Cut::Whole), b"<***=>");
}

#[test]
fn without_a_secret_everything_passes_at_once() {
    let mut masker = Masker::new([]);
    assert_eq!(masker.push(b"data"), b"data");
    assert_eq!(masker.end(), b"");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn no_cutting_lets_a_secret_through(
        texts in prop::collection::vec("[a-z\"/=+]{0,8}|sk-a/b", 1..5), every in 1_usize..20, seed in any::<u64>()
    ) {
        let body = texts.join(SECRET);
        let whole = masked(body.as_bytes(), &Cut::Whole);
        prop_assert_eq!(String::from_utf8(whole.clone()).unwrap(), body.replace(SECRET, "***"));
        prop_assert_eq!(&masked(body.as_bytes(), &Cut::Every(every)), &whole);
        prop_assert_eq!(&masked(body.as_bytes(), &Cut::Random(seed)), &whole);
    }
}
